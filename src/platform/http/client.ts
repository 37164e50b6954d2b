import type { z } from 'zod';
import type { RefusalStatus } from './error-statuses.ts';
import type { Returns, Route, Stream } from './route.ts';

/** An answer: its status decides what its body is. */
export interface Answer<Status extends number, Body> {
  readonly status: Status;
  readonly body: Body;
  readonly headers: Headers;
}

type Shape = z.ZodType | Stream | undefined;
type TypesOf<R extends Route> = NonNullable<R['types']>;
/** A streamed answer is handed over unread: its body is the response itself. */
type BodyOf<S> = S extends z.ZodType ? z.output<S> : S extends Stream ? Response : null;
type Declared<R extends Returns> = { [S in keyof R & number]: Answer<S, BodyOf<R[S]>> }[keyof R & number];
type Refused<R extends Returns> = { [S in Exclude<RefusalStatus, keyof R>]: Answer<S, { error: string }> }[Exclude<RefusalStatus, keyof R>];
type NotModified<R extends Returns> = 304 extends keyof R ? never : Answer<304, null>;

/** Everything that a route may answer with. */
export type Answers<R extends Route> = Declared<TypesOf<R>['returns']> | Refused<TypesOf<R>['returns']> | NotModified<TypesOf<R>['returns']>;
type SuccessStatus = 200 | 201 | 202 | 204 | 206;
/** What a route answers with when it does what it was asked to. */
export type Success<R extends Route> = Extract<Answers<R>, { status: SuccessStatus }>;

type Bytes = NonNullable<RequestInit['body']>;
/** What may come as JSON or as a stream is sent as JSON. */
type InputOf<S extends Shape> = S extends z.ZodType ? z.input<S> : S extends { readonly json: infer Json extends z.ZodType } ? z.input<Json> : Bytes;
/** A part of a request: not there when the route has none, optional when all of it is. */
type Part<Name extends string, S extends Shape> = [S] extends [undefined]
  ? { readonly [N in Name]?: never }
  : Record<never, never> extends InputOf<S>
    ? { readonly [N in Name]?: InputOf<S> }
    : { readonly [N in Name]: InputOf<S> };

interface Options {
  readonly idempotencyKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** What a route is called with. */
export type Input<R extends Route> = Part<'params', TypesOf<R>['params']> &
  Part<'query', TypesOf<R>['query']> &
  Part<'body', TypesOf<R>['body']> &
  Options;
/** The argument is left out where nothing has to be said. */
type Arguments<R extends Route> = Record<never, never> extends Input<R> ? [input?: Input<R>] : [input: Input<R>];

export interface ClientOptions {
  /** Where the service is, such as `https://arcade.example`. */
  readonly baseUrl: string;
  /** The `Cookie` header of every request: a session. */
  readonly cookie?: string;
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: typeof globalThis.fetch;
}

/** A route that did not do what it was asked to. */
export class CallFailed extends Error {
  readonly status: number;

  constructor(what: string, status: number, message: string) {
    super(`${what}: ${status} ${message}`);
    this.name = 'CallFailed';
    this.status = status;
  }
}

/** Calls routes by their values. */
export interface Client {
  /** Calls a route; whatever it answers is an answer. */
  call<R extends Route>(route: R, ...input: Arguments<R>): Promise<Answers<R>>;
  /** Calls a route that is expected to succeed. @throws CallFailed with the status and the sentence when it does not */
  ok<R extends Route>(route: R, ...input: Arguments<R>): Promise<Success<R>>;
}

/** Makes a client: method, path and types of every call come from the route value itself. */
export function createClient(options: ClientOptions): Client {
  const send = options.fetch ?? globalThis.fetch;

  async function request(route: Route, input: AnyInput): Promise<Answer<number, unknown>> {
    const isStream = route.body !== undefined && 'stream' in route.body && route.body.json === undefined;
    const isJson = input.body !== undefined && !isStream;
    const headers = new Headers({
      ...(options.cookie === undefined ? {} : { Cookie: options.cookie }),
      ...(isJson ? { 'Content-Type': 'application/json' } : {}),
      ...(input.idempotencyKey === undefined ? {} : { 'Idempotency-Key': input.idempotencyKey }),
      ...options.headers,
      ...input.headers,
    });
    const response = await send(urlOf(options.baseUrl, route.path, input), {
      method: route.method.toUpperCase(),
      headers,
      redirect: 'manual',
      ...(input.signal ? { signal: input.signal } : {}),
      ...(input.body === undefined ? {} : isJson ? { body: JSON.stringify(input.body) } : { body: input.body as Bytes, duplex: 'half' }),
    });
    return { status: response.status, body: await bodyOf(route, response), headers: response.headers };
  }

  return {
    // What comes back is what the route declares: the server checks each answer against it.
    call: (route, ...[input]) => request(route, input ?? {}) as Promise<Answers<typeof route>>,
    async ok(route, ...[input]) {
      const answer = await request(route, input ?? {});
      if (answer.status < 200 || answer.status > 299) throw new CallFailed(`${route.method} ${route.path}`, answer.status, errorOf(answer.body));
      return answer as Success<typeof route>;
    },
  };
}

interface AnyInput extends Options {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

function urlOf(baseUrl: string, path: string, { params, query }: AnyInput): string {
  const values = new Map(Object.entries(params ?? {}));
  const url = new URL(
    path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(values.get(name) ?? ''))),
    baseUrl,
  );
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) url.searchParams.append(name, String(one));
  }
  return url.href;
}

async function bodyOf(route: Route, response: Response): Promise<unknown> {
  const shape = route.returns[response.status];
  if (shape && 'stream' in shape) return response;
  const text = await response.text();
  return text === '' ? null : JSON.parse(text);
}

const errorOf = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string' ? body.error : '(no error text)';
