// A middleware for Express, Connect and Node's own http.
import type { Decision, RateLimitOptions } from "./rules.js";

/** Returns a middleware. The Decision is in request.weir. */
export function rateLimit<Request = any, Response = any>(
  options: RateLimitOptions<
    Request,
    (request: Request, decision: Decision, response: Response) => unknown
  >,
): (request: Request, response: Response, next: (error?: any) => void) => void;
