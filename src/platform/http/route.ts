import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type Koa from 'koa';
import type { z } from 'zod';
import type { Scope, WebhookSource } from '#config';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Delivery } from '#platform/webhooks/inbox.ts';
import type { SharedBody } from './cached-body.ts';
import type { RefusalStatus } from './error-statuses.ts';

/**
 * Who may call a route. `optional`: anyone, a session is read if there is one. `basic`: HTTP Basic with an admin token
 * as the password, for pages of operators. `webhook`: who holds the source's secret; see `readDelivery`.
 */
export type Auth =
  | 'public'
  | 'optional'
  | 'session'
  | 'internal'
  | { readonly admin: Scope }
  | { readonly sessionOrAdmin: Scope }
  | { readonly webhook: WebhookSource }
  | 'basic';

/** A body or an answer that is not JSON. It skips parsing, not auth, limits, errors or the document. */
export interface Stream {
  readonly stream: string;
  readonly maxBytes?: number;
  /**
   * It may also be JSON, of this shape: then it is parsed, or checked and written, like any other. Where the stream's own type is JSON,
   * this is what its bytes hold.
   */
  readonly json?: z.ZodType;
  /** Further content types that an answer may have: which one it has, its own `Content-Type` says. */
  readonly others?: readonly string[];
  /** What a form holds, for the document; whoever reads it checks it. */
  readonly form?: z.ZodType;
}

/** Declares a stream of a content type; `maxBytes` bounds a request's body. */
export const stream = (type: string, maxBytes?: number): Stream => ({ stream: type, ...(maxBytes === undefined ? {} : { maxBytes }) });

/** Declares a body or an answer that is JSON of a shape, or, where that would be too large, a stream of a content type. */
export const jsonOrStream = <Json extends z.ZodType>(json: Json, type: string, maxBytes?: number): Stream & { readonly json: Json } => ({
  ...stream(type, maxBytes),
  json,
});

/** Declares an answer that is a stream of one of several content types. */
export const streamOf = ([type, ...others]: readonly [string, ...string[]]): Stream => ({ ...stream(type), others });

/** Declares a body that is a form with a file in it; `readForm` reads it. */
export const formStream = (form: z.ZodType, maxBytes: number): Stream => ({ ...stream('multipart/form-data', maxBytes), form });

export const isStream = (shape: z.ZodType | Stream | null): shape is Stream => shape !== null && 'stream' in shape;

/** What a streaming answer is: bytes, or a function that takes the response over. */
export type StreamBody = Readable | Buffer | string | ((response: ServerResponse) => void | Promise<void>);

/** Whether an answer is bytes, and not a value to be written as JSON. */
export const isBytes = (body: unknown): body is StreamBody =>
  typeof body === 'string' || typeof body === 'function' || Buffer.isBuffer(body) || body instanceof Readable;

/** Answers by status: a JSON shape, a stream, or null for no body. */
export type Returns = Readonly<Record<number, z.ZodType | Stream | null>>;

export interface Reply<Status extends number = number, Body = unknown> {
  readonly status: Status;
  readonly body: Body;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a handler returns: `reply(200, { … })`. */
export function reply<const Status extends number, Body>(status: Status, body: Body, headers?: Record<string, string>): Reply<Status, Body> {
  return { status, body, ...(headers ? { headers } : {}) };
}

type JsonOf<Shape extends z.ZodType> = z.input<Shape> | SharedBody<z.input<Shape>>;
type BodyOf<Shape> = Shape extends z.ZodType
  ? JsonOf<Shape>
  : Shape extends { readonly json: infer Json extends z.ZodType }
    ? JsonOf<Json> | StreamBody
    : Shape extends Stream
      ? StreamBody
      : null;
export type ReplyOf<R extends Returns> = { [S in keyof R & number]: Reply<S, BodyOf<R[S]>> }[keyof R & number];

type WalletOf<A extends Auth> = A extends 'session' ? string : A extends 'optional' | { sessionOrAdmin: Scope } ? string | null : null;
type AdminOf<A extends Auth> = A extends 'basic' | { admin: Scope } ? string : A extends { sessionOrAdmin: Scope } ? string | null : null;
type DeliveryOf<A extends Auth> = A extends { webhook: WebhookSource } ? Delivery : null;
type InputOf<B> = B extends z.ZodType
  ? z.output<B>
  : B extends { readonly json: infer Json extends z.ZodType }
    ? z.output<Json> | Readable
    : B extends Stream
      ? Readable
      : undefined;

/** What a handler is given. */
export interface Call<A extends Auth, Params, Query, Body> {
  readonly app: App;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The caller's wallet, where the route reads a session. */
  readonly wallet: WalletOf<A>;
  /** The name of the caller's admin token, where the route takes one. */
  readonly admin: AdminOf<A>;
  /** What came by webhook, where the route takes one: its handler runs for each delivery once. */
  readonly delivery: DeliveryOf<A>;
  /** The Koa context, for cookies, headers and streams. */
  readonly ctx: Koa.Context;
  /** The `Idempotency-Key` header, checked; only where the route is `idempotent`. */
  readonly idempotencyKey: string | null;
  /**
   * A transaction whose reply is kept under the caller's `Idempotency-Key` for 24 h: the same request again
   * gets the same reply, another body under the same key 409. Without the header, a plain transaction.
   * In a webhook route, the transaction that stores the delivery: what the handler rings is in the commit of its row.
   */
  once<R extends Reply>(work: (tx: Tx) => Promise<R>): Promise<R>;
}

/** A route as the kit sees it, its types set aside. */
export interface AnyRoute {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly path: string;
  readonly auth: Auth;
  readonly summary: string;
  readonly description?: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType | Stream;
  readonly returns: Returns;
  /** The refusals that are this route's own; those of its auth mode, its body and of dependencies are added. */
  readonly fails: readonly RefusalStatus[];
  /** Honours `Idempotency-Key`. */
  readonly idempotent?: boolean;
  /** `Cache-Control` of its 200; an `ETag` goes with it, and `If-None-Match` is answered with 304. */
  readonly cache?: string;
  handler(call: Call<Auth, unknown, unknown, unknown>): Promise<Reply>;
}

/** A route with all its types: what the typed client reads. */
export interface Route<
  A extends Auth = Auth,
  P extends z.ZodType | undefined = z.ZodType | undefined,
  Q extends z.ZodType | undefined = z.ZodType | undefined,
  B extends z.ZodType | Stream | undefined = z.ZodType | Stream | undefined,
  R extends Returns = Returns,
> extends AnyRoute {
  readonly types?: { auth: A; params: P; query: Q; body: B; returns: R };
}

/** Declares a route. Router, validation, document, client and contract tests all come from this one value. */
export function route<
  const A extends Auth,
  const R extends Returns,
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | Stream | undefined = undefined,
>(
  definition: Omit<AnyRoute, 'auth' | 'params' | 'query' | 'body' | 'returns' | 'handler'> & {
    auth: A;
    params?: P;
    query?: Q;
    body?: B;
    returns: R;
    handler(call: Call<A, InputOf<P>, InputOf<Q>, InputOf<B>>): Promise<ReplyOf<R>>;
  },
): Route<A, P, Q, B, R> {
  // The kit calls the handler only with what this route's own schemas made of the request.
  return definition as unknown as Route<A, P, Q, B, R>;
}

/** What a route's auth mode reads of a request: the session, an admin or internal token, the signature of a webhook source. */
export function reads(route: AnyRoute): { session: boolean; token: boolean; webhook: WebhookSource | null } {
  const { auth } = route;
  if (typeof auth === 'string') return { session: auth === 'session' || auth === 'optional', token: auth === 'internal', webhook: null };
  if ('webhook' in auth) return { session: false, token: false, webhook: auth.webhook };
  return { session: 'sessionOrAdmin' in auth, token: true, webhook: null };
}

/** Every refusal that a route may give, its own and those of the kit, in order. A handler that gives another one breaks its declaration. */
export function refusalsOf(route: AnyRoute): RefusalStatus[] {
  const { session, token, webhook } = reads(route);
  const isUnsafe = route.method !== 'get';
  const hasInput = isUnsafe || route.params !== undefined || route.query !== undefined;
  const statuses = new Set<RefusalStatus>([...route.fails, 500, 503]);
  if (hasInput) statuses.add(400);
  if (isUnsafe) statuses.add(413).add(415);
  if ((session && route.auth !== 'optional') || route.auth === 'basic' || webhook !== null) statuses.add(401);
  if (token || (isUnsafe && webhook === null)) statuses.add(403);
  if (webhook !== null) statuses.add(409).add(429);
  if (route.idempotent) statuses.add(409).add(400);
  return [...statuses].sort((a, b) => a - b);
}
