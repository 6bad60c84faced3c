// A middleware for Hono, on Node.
import type { Decision, RateLimitOptions } from "./rules.js";

/** Returns a middleware. The Decision is in c.get("weir"). */
export function rateLimit<Context = any>(
  options: RateLimitOptions<
    Context,
    (context: Context, decision: Decision) => Response | Promise<Response>
  >,
): (context: any, next: () => Promise<void>) => Promise<Response | void>;
