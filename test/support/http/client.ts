import type { z } from 'zod';
import { type AnyInput, readResponse, requestOf, urlOf } from '#packages/client/src/request.ts';
import type { ErrorStatus } from '#platform/http/error-statuses.ts';
import { isStream, type Returns, type Route, type Stream } from '#platform/http/route.ts';
import { ADMIN_TOKEN, type TestApp } from '../app.ts';

/** A response. Its status selects the type of its body. */
interface RouteResponse<Status extends number, Body> {
  readonly status: Status;
  readonly body: Body;
  readonly headers: Headers;
}

type Shape = z.ZodType | Stream | undefined;
type TypesOf<R extends Route> = NonNullable<R['types']>;
/** The parsed JSON, also of a response that is JSON or a page; or for a stream the `Response` itself with its body unread. */
type BodyOf<S> = S extends z.ZodType
  ? z.output<S>
  : S extends { readonly stream: 'text/html'; readonly json: infer Json extends z.ZodType }
    ? z.output<Json>
    : S extends Stream
      ? Response
      : null;
type Declared<R extends Returns> = { [S in keyof R & number]: RouteResponse<S, BodyOf<R[S]>> }[keyof R & number];
type Failed<R extends Returns> = { [S in Exclude<ErrorStatus, keyof R>]: RouteResponse<S, { error: string }> }[Exclude<ErrorStatus, keyof R>];
type NotModified<R extends Returns> = 304 extends keyof R ? never : RouteResponse<304, null>;

/** Every response that a route can give. */
type AnyResponse<R extends Route> = Declared<TypesOf<R>['returns']> | Failed<TypesOf<R>['returns']> | NotModified<TypesOf<R>['returns']>;
/** The responses of a route with a status of 2xx. */
type SuccessResponse<R extends Route> = Extract<AnyResponse<R>, { status: 200 | 201 | 202 | 204 | 206 }>;

type Bytes = NonNullable<RequestInit['body']>;
/** A body that can be JSON or a stream is typed as JSON. */
type InputOf<S extends Shape> = S extends z.ZodType ? z.input<S> : S extends { readonly json: infer Json extends z.ZodType } ? z.input<Json> : Bytes;
/** One part of a request: absent when the route has none, optional when all of its fields are. */
type Part<Name extends string, S extends Shape> = [S] extends [undefined]
  ? { readonly [N in Name]?: never }
  : Record<never, never> extends InputOf<S>
    ? { readonly [N in Name]?: InputOf<S> }
    : { readonly [N in Name]: InputOf<S> };
type Input<R extends Route> = Part<'params', TypesOf<R>['params']> &
  Part<'query', TypesOf<R>['query']> &
  Part<'body', TypesOf<R>['body']> &
  Pick<AnyInput, 'idempotencyKey' | 'headers' | 'signal'>;
/** The input argument. It is optional when the route requires no part. */
type Arguments<R extends Route> = Record<never, never> extends Input<R> ? [input?: Input<R>] : [input: Input<R>];

/** Calls routes by their values: method, path and types come from the route. */
export interface RouteClient {
  /** Calls a route and returns its response, whatever the status. */
  call<R extends Route>(route: R, ...input: Arguments<R>): Promise<AnyResponse<R>>;
  /** Calls a route that must succeed. @throws an Error with the status and the error sentence when the status is not 2xx */
  ok<R extends Route>(route: R, ...input: Arguments<R>): Promise<SuccessResponse<R>>;
}

/** Creates a client that sends its requests as `packages/client` writes them, and never retries. @param headers are sent with every request */
export function createRouteClient(baseUrl: string, headers: Readonly<Record<string, string>> = {}): RouteClient {
  async function request(route: Route, input: AnyInput): Promise<RouteResponse<number, unknown>> {
    const all = { ...headers, ...input.headers };
    const response = await fetch(urlOf(baseUrl, route.path, input), { ...requestOf(route.method, { ...input, headers: all }), redirect: 'manual' });
    const shape = route.returns[response.status] ?? null;
    const isJsonOrPage = shape !== null && isStream(shape) && shape.stream === 'text/html' && shape.json !== undefined;
    if (isStream(shape) && !isJsonOrPage) return { status: response.status, body: response, headers: response.headers };
    return await readResponse(response);
  }
  return {
    // The server checks each response against the route's declaration, so the response has the declared type.
    call: (route, ...[input]) => request(route, plain(input)) as Promise<AnyResponse<typeof route>>,
    async ok(route, ...[input]) {
      const response = await request(route, plain(input));
      if (response.status >= 200 && response.status <= 299) return response as SuccessResponse<typeof route>;
      throw new Error(`${route.method} ${route.path}: ${response.status} ${errorOf(response.body)}`);
    },
  };
}

/** Drops the route's types from an input. Schemas of parameters and queries are always objects, which TypeScript cannot derive here. */
const plain = (input: object | undefined): AnyInput => input ?? {};

const errorOf = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string' ? body.error : '(no error text)';

/** Creates a typed client of a test application. @param session the result of `signIn`; without it the client is signed out */
export function clientOf(t: Pick<TestApp, 'url'>, session?: { readonly cookie: string }): RouteClient {
  return createRouteClient(t.url, session ? { Cookie: session.cookie } : {});
}

/** Creates a typed client of a test application that sends an admin token. */
export function adminOf(t: Pick<TestApp, 'url'>, token = ADMIN_TOKEN): RouteClient {
  return createRouteClient(t.url, { Authorization: `Bearer ${token}` });
}
