// A service that is limited by the middleware of weir-client; javascript_web_test.py calls it.
//
//     web.mjs FRAMEWORK OPTIONS
//
// OPTIONS is JSON: `limiter`, the options of the Limiter, and those of the middleware, of which
// functions are named: {"key": "x-user"}. It prints its port, then the causes of outages. "/" says
// hello, with the status in X-Status.
import { createServer } from "node:http";

import { Limiter } from "weir-client";

const [framework, given] = process.argv.slice(2);
const { limiter: limiterOptions, ...options } = JSON.parse(given);
const onUnavailable = (cause) => console.log(cause);
options.limiter = new Limiter({ ...limiterOptions, onUnavailable });

const nodeHeader = (request, name) => request.headers[name];

function hello(decision) {
  const rows = decision?.limits ?? [];
  return ["hello", ...rows.map((row) => `${row.name} ${row.remaining}`)].join(" ");
}

function slowDown(decision) {
  return `slow down, ${decision.limits[0].name}`;
}

function throwSomething() {
  throw "something"; // no Error
}

// The functions that the options name, for requests whose headers `header` reads.
function withFunctions(header, denied) {
  const made = { ...options };
  if (options.key) made.key = (request) => header(request, options.key);
  if (options.skip) made.skip = (request) => header(request, options.skip) !== undefined;
  if (options.cost) made.cost = (request) => Number(header(request, options.cost));
  if (options.denied) made.denied = denied;
  if (options.chargeWhen) made.chargeWhen = ({ status }) => status === options.chargeWhen;
  if (options.chargeWhen === "throws") made.chargeWhen = throwSomething;
  return made;
}

async function withExpress() {
  const { rateLimit } = await import("weir-client/express");
  return rateLimit(
    withFunctions(nodeHeader, (request, decision, response) => {
      if (options.denied !== "plain") response.statusCode = 420;
      response.end(slowDown(decision));
    }),
  );
}

function answer(request, response) {
  response.statusCode = Number(request.headers["x-status"] ?? 200);
  response.end(hello(request.weir));
}

async function withApp(express) {
  const app = express();
  app.use(await withExpress());
  app.all("/", answer);
  app.use((error, request, response, next) => {
    response.statusCode = 500;
    response.end(error.message, next);
  });
  return createServer(app);
}

const servers = {
  async node() {
    const limit = await withExpress();
    return createServer((request, response) =>
      limit(request, response, (error) => {
        if (!error) return answer(request, response);
        response.statusCode = 500;
        return response.end(error.message);
      }),
    );
  },
  async express4() {
    return withApp((await import("express4")).default);
  },
  async express5() {
    return withApp((await import("express")).default);
  },
  async fastify() {
    const { default: fastify } = await import("fastify");
    const { rateLimit } = await import("weir-client/fastify");
    const app = fastify();
    const slow = (request, decision, reply) => {
      if (options.denied !== "plain") reply.code(420);
      return slowDown(decision);
    };
    app.register(rateLimit, withFunctions(nodeHeader, slow));
    app.all("/", async (request, reply) => {
      reply.code(Number(request.headers["x-status"] ?? 200));
      return hello(request.weir);
    });
    await app.ready();
    return app.server;
  },
  async hono() {
    const { Hono } = await import("hono");
    const { createAdaptorServer } = await import("@hono/node-server");
    const { rateLimit } = await import("weir-client/hono");
    const app = new Hono();
    const slow = (c, decision) => new Response(slowDown(decision), { status: 420 });
    app.use(rateLimit(withFunctions((c, name) => c.req.header(name), slow)));
    app.all("/", (c) => c.text(hello(c.get("weir")), Number(c.req.header("x-status") ?? 200)));
    app.onError((error, c) => c.text(error.message, 500));
    return createAdaptorServer(app);
  },
};

const server = await servers[framework]();
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
