// A plugin for Fastify.
import type { Decision, RateLimitOptions } from "./rules.js";

/** The plugin, for app.register(). The Decision is in request.weir. */
export function rateLimit<Request = any, Reply = any>(
  app: any,
  options: RateLimitOptions<
    Request,
    (request: Request, decision: Decision, reply: Reply) => unknown
  >,
): Promise<void>;
