// A middleware for Express, Connect and Node's own http.
//
//     app.use(rateLimit({ limiter, limits: ["10/s", "1000/h"] }));
//
// lib/rules.js has the options; `denied` gets the response, too: denied(request, decision,
// response), whose status is 429 or 503 already. The Decision is in request.weir.
import { Rules } from "./lib/rules.js";

/** @returns a function of a request, a response, and what is called if the request is allowed. */
export function rateLimit(options) {
  const rules = new Rules(options);
  return (request, response, next) => {
    limit(rules, request, response).then(
      (passes) => passes && next(),
      (error) => next(asError(error)),
    );
  };
}

/** Returns whether the request passes; else it has been answered. */
async function limit(rules, request, response) {
  const asked = await rules.ask({
    request,
    method: request.method,
    header: (name) => request.headers[name],
    peer: request.socket.remoteAddress,
  });
  if (asked === undefined) return true;
  const { decision } = asked;
  request.weir = decision;
  if (response.headersSent) return decision.allowed; // another has answered it: by a timeout, say
  for (const [name, value] of Object.entries(asked.headers)) response.setHeader(name, value);
  if (asked.awaitsEnd) chargeAtEnd(asked, response);
  if (decision.allowed) return true;
  const { status, body, type } = asked.refusal;
  response.statusCode = status;
  if (rules.denied) {
    await rules.denied(request, decision, response);
  } else {
    response.setHeader("Content-Type", type);
    response.end(body);
  }
  return false;
}

/** What next() takes for an error: without one a request passes, as by the word "route". */
function asError(thrown) {
  return typeof thrown === "object" && thrown !== null ? thrown : new Error(String(thrown));
}

function chargeAtEnd(asked, response) {
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    asked.end(response.statusCode, { ...response.getHeaders() });
  };
  response.once("finish", end);
  response.once("close", end); // of a caller that has gone
}
