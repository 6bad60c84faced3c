// A plugin for Fastify: it limits the routes of the scope that it is registered in.
//
//     await app.register(rateLimit, { limiter, limits: ["10/s", "1000/h"] });
//
// lib/rules.js has the options; `denied` gets the reply, too: denied(request, decision, reply)
// returns what is sent; its status is 429 or 503 already. The Decision is in request.weir.
import { Rules } from "./lib/rules.js";

/** The plugin. */
export async function rateLimit(app, options) {
  const rules = new Rules(options);
  const asks = new WeakMap();
  if (!app.hasRequestDecorator("weir")) app.decorateRequest("weir", null);
  app.addHook("onRequest", async (request, reply) => {
    const asked = await rules.ask({
      request,
      method: request.method,
      header: (name) => request.headers[name],
      peer: request.raw.socket.remoteAddress,
    });
    if (asked === undefined) return undefined;
    request.weir = asked.decision;
    reply.headers(asked.headers);
    if (asked.awaitsEnd) asks.set(request, asked);
    return asked.decision.allowed ? undefined : refuse(rules, asked, request, reply);
  });
  app.addHook("onResponse", async (request, reply) => {
    await asks.get(request)?.end(reply.statusCode, { ...reply.getHeaders() });
  });
}

// Fastify then adds the hooks to the scope itself, and not to one of the plugin's own.
rateLimit[Symbol.for("skip-override")] = true;
rateLimit[Symbol.for("fastify.display-name")] = "weir-client";

async function refuse(rules, asked, request, reply) {
  const { status, body, type } = asked.refusal;
  reply.code(status);
  if (rules.denied) {
    const payload = await rules.denied(request, asked.decision, reply);
    return reply.sent ? reply : reply.send(payload);
  }
  // A string would get a charset.
  return reply.header("content-type", type).send(Buffer.from(body));
}
