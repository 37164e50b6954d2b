import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An account of X. */
export interface XUser {
  readonly id: string;
  username: string;
}

/** A fault of X: an error response, or a broken connection. */
export type XFault =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
  /** Closes the connection; never answers; never ends the response; sends an endless body. */
  | 'drops'
  | 'hangs'
  | 'stalls'
  | 'floods';

/** A server with the parts of X's API that the service uses: OAuth 2.0 with PKCE, the signed-in user, posts. It validates requests as X does. */
export interface XServer {
  readonly url: string;
  /** Environment variables for an application with the confidential client. */
  readonly env: Readonly<Record<string, string>>;
  /** Method and path of all requests, such as `POST /2/oauth2/token`, in order. */
  readonly requests: string[];
  /** Number of tokens that are not revoked. */
  readonly liveTokens: number;
  /** Registers an account. */
  user(username?: string): XUser;
  /** Publishes a post. @returns its id */
  post(author: XUser, text: string, more?: Record<string, unknown>): string;
  /** Returns the id of a post that is not public. */
  hiddenPost(): string;
  /** Opens a sign-in URL as a user who allows the access. @returns the parameters of the redirect */
  authorize(url: string, user: XUser): Promise<{ code: string; state: string }>;
  /** Sets the fault of a path prefix. */
  fail(path: string, fault: XFault): void;
  clearFaults(): void;
  close(): Promise<void>;
}

/** Secrets of the registered clients by id; null for a public client. */
const SECRETS = new Map<string, string | null>([
  ['confidential-client-of-tests', 'secret-of-the-confidential-client'],
  ['public-client-of-tests', null],
]);
export const PUBLIC_CLIENT = { X_CLIENT_ID: 'public-client-of-tests', X_REDIRECT_URL: 'https://coinop.test/link/x' };
const REDIRECT_URL = PUBLIC_CLIENT.X_REDIRECT_URL;
const BEARER_TOKEN = 'bearer-token-of-tests';

interface Grant {
  readonly clientId: string;
  readonly challenge: string;
  readonly user: XUser;
}

const hash = (text: string) => createHash('sha256').update(text).digest('base64url');
const random = () => randomBytes(18).toString('base64url');
let lastId = 1_900_000_000_000_000_000n + BigInt(Date.now());
/** Returns a new id in the format of X, which is too large for a double. */
export const nextXId = (): string => String(++lastId);

export async function startXServer(): Promise<XServer> {
  const codes = new Map<string, Grant>();
  const tokens = new Map<string, XUser>();
  const posts = new Map<string, unknown>();
  const users = new Map<string, XUser>();
  const faults = new Map<string, XFault>();
  const requests: string[] = [];

  /** Returns the id of the authenticated client (RFC 6749), or null. */
  function clientOf(request: IncomingMessage, form: URLSearchParams): string | null {
    const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (basic === undefined) return SECRETS.get(form.get('client_id') ?? '') === null ? form.get('client_id') : null;
    const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':');
    return typeof SECRETS.get(id) === 'string' && SECRETS.get(id) === secret ? id : null;
  }
  const refused = (description: string) => ({ status: 400, body: { error: 'invalid_request', error_description: description } });
  const unauthorized = { status: 401, body: { title: 'Unauthorized', type: 'about:blank', status: 401, detail: 'Unauthorized' } };

  function authorize(query: URLSearchParams, cookie: string): { status: number; headers?: Record<string, string>; body?: unknown } {
    const user = users.get(/auth_token=(\d+)/.exec(cookie)?.[1] ?? '');
    const wanted: [string, RegExp][] = [
      ['response_type', /^code$/],
      ['scope', /^(?=.*\busers\.read\b)(?=.*\btweet\.read\b)/],
      ['state', /^.{20,500}$/],
      ['code_challenge', /^[\w-]{43}$/],
      ['code_challenge_method', /^S256$/],
    ];
    const wrong = wanted.find(([name, form]) => !form.test(query.get(name) ?? ''));
    const clientId = query.get('client_id') ?? '';
    if (!user || wrong || !SECRETS.has(clientId) || query.get('redirect_uri') !== REDIRECT_URL)
      return refused(`something went wrong: ${wrong?.[0] ?? 'client'}`);
    const code = random();
    codes.set(code, { clientId, challenge: query.get('code_challenge') ?? '', user });
    return { status: 302, headers: { Location: `${REDIRECT_URL}?${new URLSearchParams({ state: query.get('state') ?? '', code })}` } };
  }

  function token(request: IncomingMessage, form: URLSearchParams) {
    const clientId = clientOf(request, form);
    if (clientId === null) return { status: 401, body: { error: 'unauthorized_client', error_description: 'Missing valid authorization header' } };
    const grant = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    if (form.get('grant_type') !== 'authorization_code') return refused('grant_type');
    if (!grant || grant.clientId !== clientId) return refused('Value passed for the authorization code was invalid.');
    if (form.get('redirect_uri') !== REDIRECT_URL)
      return refused('Value passed for the redirect uri did not match the uri of the authorization code.');
    if (hash(form.get('code_verifier') ?? '') !== grant.challenge)
      return refused('Value passed for the code verifier did not match the code challenge.');
    const access = random();
    tokens.set(access, grant.user);
    return { status: 200, body: { token_type: 'bearer', expires_in: 7_200, access_token: access, scope: 'users.read tweet.read' } };
  }

  function answer(request: IncomingMessage, url: URL, form: URLSearchParams): { status: number; headers?: Record<string, string>; body?: unknown } {
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const endpoint = `${request.method} ${url.pathname}`;
    if (endpoint === 'GET /i/oauth2/authorize') return authorize(url.searchParams, request.headers.cookie ?? '');
    if (endpoint === 'POST /2/oauth2/token') return token(request, form);
    if (endpoint === 'POST /2/oauth2/revoke') {
      if (clientOf(request, form) === null) return unauthorized;
      tokens.delete(form.get('token') ?? '');
      return { status: 200, body: { revoked: true } };
    }
    if (endpoint === 'GET /2/users/me') {
      const user = tokens.get(bearer);
      return user ? { status: 200, body: { data: { id: user.id, name: `${user.username} of X`, username: user.username } } } : unauthorized;
    }
    const id = /^GET \/2\/tweets\/(\d+)$/.exec(endpoint)?.[1];
    if (id === undefined) return { status: 404, body: { title: 'Not Found' } };
    if (bearer !== BEARER_TOKEN) return unauthorized;
    const notFound = {
      value: id,
      detail: `Could not find tweet with id: [${id}].`,
      title: 'Not Found Error',
      type: 'https://api.x.com/2/problems/resource-not-found',
    };
    return { status: 200, body: posts.get(id) ?? { errors: [notFound] } };
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://x.test');
    requests.push(`${request.method} ${url.pathname}`);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
    const form = new URLSearchParams(isForm ? Buffer.concat(chunks).toString() : '');
    const fault = [...faults].find(([path]) => url.pathname.startsWith(path))?.[1];
    if (fault === undefined) write(response, answer(request, url, form));
    else if (typeof fault === 'object') write(response, fault);
    else breakResponse(response, fault);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    env: {
      X_CLIENT_ID: 'confidential-client-of-tests',
      X_CLIENT_SECRET: 'secret-of-the-confidential-client',
      X_REDIRECT_URL: REDIRECT_URL,
      X_AUTHORIZE_URL: `${url}/i/oauth2/authorize`,
      X_API_URL: url,
      X_BEARER_TOKEN: BEARER_TOKEN,
    },
    requests,
    get liveTokens() {
      return tokens.size;
    },
    user(username = `user_${randomBytes(4).toString('hex')}`) {
      const user = { id: nextXId(), username };
      users.set(user.id, user);
      return user;
    },
    post(author, text, more = {}) {
      const id = nextXId();
      const data = { id, text, author_id: author.id, edit_history_tweet_ids: [id], ...more };
      posts.set(id, { data, includes: { users: [{ id: author.id, name: author.username, username: author.username }] } });
      return id;
    },
    hiddenPost: nextXId,
    async authorize(address, user) {
      const response = await fetch(address, { headers: { Cookie: `auth_token=${user.id}` }, redirect: 'manual' });
      const back = response.headers.get('Location');
      if (back === null) throw new Error(`X answered ${response.status}: ${await response.text()}`);
      const query = new URL(back).searchParams;
      return { code: query.get('code') ?? '', state: query.get('state') ?? '' };
    },
    fail: (path, fault) => void faults.set(path, fault),
    clearFaults: () => faults.clear(),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function write(
  response: ServerResponse,
  { status, headers, body }: { status: number; headers?: Readonly<Record<string, string>>; body?: unknown },
): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body === undefined ? '' : JSON.stringify(body));
}

function breakResponse(response: ServerResponse, fault: 'drops' | 'hangs' | 'stalls' | 'floods'): void {
  if (fault === 'drops') response.destroy();
  if (fault === 'stalls' || fault === 'floods') response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"data":"');
  if (fault === 'floods') writeEndlessly(response);
}

/** Writes until the client closes the connection. */
function writeEndlessly(response: ServerResponse): void {
  if (response.destroyed) return;
  if (response.write('x'.repeat(65_536))) setImmediate(writeEndlessly, response);
  else response.once('drain', () => writeEndlessly(response));
}
