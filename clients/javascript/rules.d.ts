// The options of the middlewares.
import type { Decision, Limiter, Word } from "./index.js";

/** A response, as chargeWhen sees it. */
export interface Answered {
  status: number;
  /** Names in lower case. */
  headers: Record<string, unknown>;
}

/** undefined: 1. */
export type Tokens = number | bigint | undefined;

/** `Denied` are the further arguments of `denied`, and what it returns. */
export interface RateLimitOptions<Request, Denied extends (...given: any[]) => unknown> {
  limiter: Limiter;
  /** ["10/s", "@free"] */
  limits: readonly string[];
  /** By default "ip:" and the address of the caller. */
  key?: (request: Request) => Word | Promise<Word>;
  /** Which requests pass without a question; by default CORS preflights. */
  skip?: (request: Request) => boolean | Promise<boolean>;
  /** How many tokens the request takes; by default 1. */
  cost?: (request: Request) => Tokens | Promise<Tokens>;
  /** Makes the response to a request that is not allowed. */
  denied?: Denied;
  /**
   * How many proxies of yours there are: the address is that entry of X-Forwarded-For, counted from
   * the right. 0 (by default) takes that of the connection.
   */
  trustedHops?: number;
  /** X-RateLimit-Limit, -Remaining and -Reset, too. */
  legacyHeaders?: boolean;
  /** Which responses are charged: then a request takes its tokens only after its response. */
  chargeWhen?: (response: Answered) => boolean | Promise<boolean>;
}

export type { Decision };
