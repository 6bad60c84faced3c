// A middleware for Hono, on Node.
//
//     app.use(rateLimit({ limiter, limits: ["10/s", "1000/h"] }));
//
// lib/rules.js has the options; a request is Hono's Context, and `denied` returns a Response. The
// Decision is in c.get("weir").
import { Rules } from "./lib/rules.js";

/** @returns Hono's middleware. */
export function rateLimit(options) {
  const rules = new Rules(options);
  return async (c, next) => {
    const asked = await rules.ask({
      request: c,
      method: c.req.method,
      header: (name) => c.req.header(name),
      peer: c.env?.incoming?.socket?.remoteAddress, // of @hono/node-server
    });
    if (asked === undefined) return next();
    c.set("weir", asked.decision);
    if (!asked.decision.allowed) return refuse(rules, asked, c);
    await next();
    for (const [name, value] of Object.entries(asked.headers)) c.header(name, value);
    if (asked.awaitsEnd) await asked.end(c.res.status, Object.fromEntries(c.res.headers));
    return undefined;
  };
}

async function refuse(rules, asked, c) {
  const { status, body, type } = asked.refusal;
  const answer = rules.denied
    ? await rules.denied(c, asked.decision)
    : new Response(body, { status, headers: { "content-type": type } });
  const response = new Response(answer.body, answer); // one whose headers can be changed
  for (const [name, value] of Object.entries(asked.headers)) response.headers.set(name, value);
  return response;
}
