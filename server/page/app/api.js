// Requests to the server's /api. The browser adds the login, which it asks the user for.

const TIMEOUT_MS = 10_000;

// Whether the server has answered without asking for a login. Before that the browser may show its
// dialog, which users take their time to fill in.
let welcome = false;

// An answer that is no success. `status` is 0 if there was no answer.
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function send(path, options) {
  let response;
  let text;
  try {
    response = await fetch(path, {
      ...options, signal: welcome ? AbortSignal.timeout(TIMEOUT_MS) : null, cache: 'no-store',
      redirect: 'error',
    });
    text = await response.text();
  } catch (error) {
    throw new ApiError(0, String(error.message ?? error));
  }
  welcome = response.status !== 401;
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new ApiError(response.ok ? 500 : response.status, text || response.statusText);
  }
  if (!response.ok) throw new ApiError(response.status, answer.error ?? response.statusText);
  return answer;
}

// `parameters` are encoded here; a key's `k` is encoded already, and belongs into the path.
export function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return send(query ? `${path}?${query}` : path, {method: 'GET'});
}

// Asks a question that has a body, and changes nothing.
export function ask(path, body) {
  return send(path, {
    method: 'POST', body: JSON.stringify(body),
    headers: {'Content-Type': 'application/json', 'X-Weir': '1'},
  });
}

// The field X-Weir is one that no page of another site can set.
export function change(method, path, body) {
  return send(path, {
    method, body: body === undefined ? undefined : JSON.stringify(body),
    headers: {'Content-Type': 'application/json', 'X-Weir': '1'},
  });
}

// A path whose query names a key by its percent-encoded bytes. What a user has typed into the
// address without encoding it is encoded now.
export function byKey(path, k) {
  return `${path}?k=${k.replace(/[^\w%.~-]+/g, encodeURIComponent)}`;
}

// Likewise for a key whose text is cut, which a list names by this mark.
export function byHash(path, hash) {
  return `${path}?hash=${encodeURIComponent(hash)}`;
}
