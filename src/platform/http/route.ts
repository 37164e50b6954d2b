import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type Koa from 'koa';
import type { z } from 'zod';
import type { Scope } from '#config';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { WebhookSource } from '#platform/webhooks/config.ts';
import type { Delivery } from '#platform/webhooks/inbox.ts';
import type { CachedBody } from './cached-body.ts';
import type { ErrorStatus } from './error-statuses.ts';
import type { JsonText } from './json-text.ts';

/**
 * Authentication of a route.
 * - `optional`: no authentication is required; the session is read when the request has one.
 * - `sessionOrAdmin`: a session, or an admin token with this scope.
 * - `internal`: an internal token, or an admin token with the scope money.
 * - `basic`: HTTP Basic with an admin token as the password, for operator pages.
 * - `webhook`: a signature with the secret of the source; see `readDelivery`.
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

/**
 * Declares a request or response body that is not JSON. The framework does not parse the body. Authentication, limits, error responses and the
 * OpenAPI document work as for a JSON body.
 */
export interface Stream {
  /** Content type. */
  readonly stream: string;
  /** Maximum size of a request body, bytes. */
  readonly maxBytes?: number;
  /**
   * Schema of a JSON body that is accepted or returned instead of the stream. When the content type of the stream is itself JSON, the schema
   * describes the bytes of the stream.
   */
  readonly json?: z.ZodType;
  /** Other content types that the response may have. The handler must set `Content-Type`. */
  readonly others?: readonly string[];
  /** Schema of a form, for the OpenAPI document. `readForm` validates the form. */
  readonly form?: z.ZodType;
}

/**
 * Declares a stream.
 * @param type the content type of the body
 * @param maxBytes the maximum size of a request body, bytes
 */
export const stream = (type: string, maxBytes?: number): Stream => ({ stream: type, ...(maxBytes === undefined ? {} : { maxBytes }) });

/** Declares a body that is JSON with a schema, or a stream for data that is too large for JSON. */
export const jsonOrStream = <Json extends z.ZodType>(json: Json, type: string, maxBytes?: number): Stream & { readonly json: Json } => ({
  ...stream(type, maxBytes),
  json,
});

/** Declares a response that is JSON with a schema, or a page for a client that prefers HTML; see `asksForPage`. */
export const jsonOrPage = <Json extends z.ZodType>(json: Json): Stream & { readonly stream: 'text/html'; readonly json: Json } => ({
  stream: 'text/html',
  json,
});

/** Declares a response that is a stream with one of several content types. */
export const streamOf = ([type, ...others]: readonly [string, ...string[]]): Stream => ({ ...stream(type), others });

/** Declares a request body that is a form with a file. The handler reads it with `readForm`. */
export const formStream = (form: z.ZodType, maxBytes: number): Stream => ({ ...stream('multipart/form-data', maxBytes), form });

export const isStream = (shape: z.ZodType | Stream | null): shape is Stream => shape !== null && 'stream' in shape;

/** Body of a stream response: the bytes, or a function that writes the response itself. */
export type StreamBody = Readable | Buffer | string | ((response: ServerResponse) => void | Promise<void>);

/** Returns whether a response body is a stream body and not a JSON value. */
export const isBytes = (body: unknown): body is StreamBody =>
  typeof body === 'string' || typeof body === 'function' || Buffer.isBuffer(body) || body instanceof Readable;

/** Responses of a route by status: a JSON schema, a stream, or null for no body. */
export type Returns = Readonly<Record<number, z.ZodType | Stream | null>>;

export interface Reply<Status extends number = number, Body = unknown> {
  readonly status: Status;
  readonly body: Body;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Creates the result of a handler: `reply(200, { … })`. */
export function reply<const Status extends number, Body>(status: Status, body: Body, headers?: Record<string, string>): Reply<Status, Body> {
  return { status, body, ...(headers ? { headers } : {}) };
}

type JsonOf<Shape extends z.ZodType> = z.input<Shape> | CachedBody<z.input<Shape>> | JsonText<z.input<Shape>>;
type BodyOf<Shape> = Shape extends z.ZodType
  ? JsonOf<Shape>
  : Shape extends { readonly json: infer Json extends z.ZodType }
    ? JsonOf<Json> | StreamBody
    : Shape extends Stream
      ? StreamBody
      : null;
export type ReplyOf<R extends Returns> = { [S in keyof R & number]: Reply<S, BodyOf<R[S]>> }[keyof R & number];

type WalletOf<A extends Auth> = A extends 'session' ? string : A extends 'optional' | { sessionOrAdmin: Scope } ? string | null : null;
type AdminOf<A extends Auth> = A extends 'basic' | 'internal' | { admin: Scope }
  ? string
  : A extends { sessionOrAdmin: Scope }
    ? string | null
    : null;
type DeliveryOf<A extends Auth> = A extends { webhook: WebhookSource } ? Delivery : null;
type InputOf<B> = B extends z.ZodType
  ? z.output<B>
  : B extends { readonly json: infer Json extends z.ZodType }
    ? z.output<Json> | Readable
    : B extends Stream
      ? Readable
      : undefined;

/** The argument of a handler: the validated request. */
export interface Call<A extends Auth, Params, Query, Body> {
  readonly app: App;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The JSON body as it was received; empty for a request without a body, and for a stream. */
  readonly bytes: Buffer;
  /** Wallet of the session; null without a session. */
  readonly wallet: WalletOf<A>;
  /** Name of the admin or internal token; null when the route does not use one. */
  readonly admin: AdminOf<A>;
  /** Key of the webhook delivery; null in a route that is not a webhook. The handler runs once per delivery. */
  readonly delivery: DeliveryOf<A>;
  /** The Koa context, for cookies, headers and streams. */
  readonly ctx: Koa.Context;
  /** The validated `Idempotency-Key` header; null without the header and in routes that are not `idempotent`. */
  readonly idempotencyKey: string | null;
  /**
   * Runs `work` in a transaction and stores its reply under the caller's `Idempotency-Key` for 24 h. A repeated request gets the same reply; a
   * request with the same key and another body gets a 409. Without the header, `work` runs in a plain transaction. In a webhook route, `work` runs in
   * the transaction that stores the delivery, so its jobs are enqueued after the delivery is committed.
   */
  once<R extends Reply>(work: (tx: Tx) => Promise<R>): Promise<R>;
}

/**
 * The resource that a request mostly uses. The requests of each load have bounds of their own.
 * - `read`: short reads. The default of GET routes.
 * - `write`: a transaction. The default of all other routes.
 * - `worker`: waits for a worker, without a database connection.
 * - `costly`: long reads and computations, such as downloads of whole lists. A download counts until its response has ended, or its client reads it slowly.
 * - `lookup`: requests to an RPC node or to X that the caller chooses.
 * - `upload`: reads a large body.
 * - `none`: no bounds. For health checks, event streams (see `sse.ts`) and webhooks, whose sources have a rate limit.
 */
export type Load = 'read' | 'write' | 'worker' | 'costly' | 'lookup' | 'upload' | 'none';
export type BoundedLoad = Exclude<Load, 'none'>;

/** A route without its type parameters, as the framework uses it. */
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
  /** Error statuses that the handler throws. The framework adds the statuses of authentication, body parsing and dependencies. */
  readonly fails: readonly ErrorStatus[];
  /** The resource that a request mostly uses, which determines how many requests a caller may have in flight; see `loadOf` for the default. */
  readonly load?: Load;
  /** Whether a banned wallet may use the route. Such a wallet can sign in, but only to read its own data, to appeal and to delete its account. */
  readonly forBanned?: boolean;
  /** Whether older rows of the list may be in the archive. The handler then sets the header `X-Archived-Before`. */
  readonly archived?: boolean;
  /**
   * Whether the route is an endpoint of Solana Actions: pages of any origin may call it without credentials, its responses have the headers of that
   * protocol, and its errors are `{ "message": … }`. Only a `public` route may be one.
   */
  readonly isAction?: boolean;
  /**
   * Day (YYYY-MM-DD) since which the route is kept only for existing clients. Its responses then have the header `Deprecation` (RFC 9745), and the
   * OpenAPI document marks it as deprecated.
   */
  readonly deprecatedSince?: string;
  /** Whether the route supports `Idempotency-Key`. */
  readonly idempotent?: boolean;
  /**
   * `Cache-Control` of the 200 response. When it is set, the response also gets an `ETag`, and a request with this ETag in `If-None-Match` gets a
   * 304.
   */
  readonly cache?: string;
  handler(call: Call<Auth, unknown, unknown, unknown>): Promise<Reply>;
}

/** A route with its type parameters, for typed clients. */
export interface Route<
  A extends Auth = Auth,
  P extends z.ZodType | undefined = z.ZodType | undefined,
  Q extends z.ZodType | undefined = z.ZodType | undefined,
  B extends z.ZodType | Stream | undefined = z.ZodType | Stream | undefined,
  R extends Returns = Returns,
> extends AnyRoute {
  readonly types?: { auth: A; params: P; query: Q; body: B; returns: R };
}

/** Declares a route. The router, the validation, the OpenAPI document, the client and the contract tests are derived from this value. */
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
  // The cast is safe because the framework calls the handler only with the output of this route's own schemas.
  return definition as unknown as Route<A, P, Q, B, R>;
}

/** Returns which credentials a route reads: a session, an admin or internal token, or the signature of a webhook source. */
export function credentialsOf(route: AnyRoute): { session: boolean; token: boolean; webhook: WebhookSource | null } {
  const { auth } = route;
  if (typeof auth === 'string') return { session: auth === 'session' || auth === 'optional', token: auth === 'internal', webhook: null };
  if ('webhook' in auth) return { session: false, token: false, webhook: auth.webhook };
  return { session: 'sessionOrAdmin' in auth, token: true, webhook: null };
}

/** Returns the load of a route: the load that the route declares, or the default of its method. */
export function loadOf({ load, auth, method }: Pick<AnyRoute, 'load' | 'auth' | 'method'>): Load {
  if (load !== undefined) return load;
  if (typeof auth === 'object' && 'webhook' in auth) return 'none';
  return method === 'get' ? 'read' : 'write';
}

/** Returns every error status of a route, its own and those of the framework, in ascending order. Any other error status of the handler is a contract violation. */
export function errorStatusesOf(route: AnyRoute): ErrorStatus[] {
  const { session, token, webhook } = credentialsOf(route);
  const isUnsafe = route.method !== 'get';
  const statuses = new Set<ErrorStatus>([...route.fails, 500, 503]);
  if (isUnsafe || route.query !== undefined) statuses.add(400);
  if (route.params !== undefined) statuses.add(404);
  if (isUnsafe) statuses.add(413).add(415);
  if ((session && route.auth !== 'optional') || route.auth === 'basic' || webhook !== null) statuses.add(401);
  if (token || (isUnsafe && webhook === null && !route.isAction) || (route.auth === 'session' && !route.forBanned)) statuses.add(403);
  if (webhook !== null) statuses.add(409).add(429);
  if (loadOf(route) !== 'none') statuses.add(429);
  if (route.idempotent) statuses.add(409).add(400);
  return [...statuses].sort((a, b) => a - b);
}
