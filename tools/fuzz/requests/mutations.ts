import type { ClientState } from '../client-state.ts';
import type { Random } from '../random.ts';
import { hostileText } from './hostile-values.ts';
import type { Draft } from './request-builder.ts';

/** A function that changes the headers, the path or the method of a request. */
type Mutation = (draft: Draft, random: Random, state: ClientState) => void;

const set = (draft: Draft, name: string, ...values: string[]) => {
  draft.headers = [
    ...draft.headers.filter(([one]) => one.toLowerCase() !== name.toLowerCase()),
    ...values.map((value): [string, string] => [name, value]),
  ];
};
/** Returns text that a header may contain. Replaces characters that the HTTP parser rejects; `framing.ts` sends these characters. */
const inHeader = (text: string) => text.replace(/[^\x20-\x7e\x80-\xff]/gu, '?').trim();
const flip = (text: string, random: Random) => {
  const at = random.int(0, Math.max(0, text.length - 1));
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
};
const header = (name: string, values: readonly string[], more: (random: Random, state: ClientState) => readonly string[] = () => []): Mutation => {
  return (draft, random, state) => {
    const value = random.pick([...values, ...more(random, state), inHeader(hostileText(random, 9_000))]);
    set(draft, name, ...(random.chance(0.1) ? [value, value] : [value]));
  };
};

/** Mutations of headers, by name. They set invalid values that clients send by mistake or on purpose. */
const HEADERS: Readonly<Record<string, Mutation>> = {
  'content type': header('Content-Type', [
    'text/plain',
    'application/json; charset=utf-16',
    'application/json; charset="utf-8"; charset=latin1',
    'application/json;;;',
    'application/vnd.x+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary="',
    `multipart/form-data; boundary=${'b'.repeat(5_000)}`,
    'application/x-ndjson',
    `application/json${' '.repeat(5_000)}x`,
    `application/${'a.'.repeat(2_000)}+json`,
    '*/*',
  ]),
  'content encoding': header('Content-Encoding', ['gzip', 'br', 'deflate', 'zstd', 'identity', 'gzip, gzip', 'GZIP', 'chunked']),
  origin: header(
    'Origin',
    ['null', 'https://evil.example', 'http://localhost', 'http://localhost:1', '*', 'file://', 'http://localhost.evil.example'],
    (_, { target }) => [`${target.publicUrl}/`, `${target.publicUrl}.evil.example`, target.publicUrl.toUpperCase()],
  ),
  site: header('Sec-Fetch-Site', ['cross-site', 'same-site', 'same-origin', 'none', 'CROSS-SITE']),
  cookie: (draft, random, state) => {
    const other = random.pick(state.players).cookie;
    const cookies = [
      '',
      ';;;',
      'coinop.sid',
      'coinop.sid=',
      'coinop.sid=%00; coinop.sid.sig=%00',
      `coinop.sid=${'a'.repeat(4_000)}; coinop.sid.sig=b`,
      'coinop.sid=__proto__; coinop.sid.sig=__proto__',
      other.replace(/\.sig=.*/, '.sig='),
      other.split('; ').reverse().join('; '),
      `${other}; ${random.pick(state.players).cookie}`,
      flip(other, random),
      `coinop.sid="${other}"`,
      `__Host-${other}`,
      `${'a=b; '.repeat(1_500)}${other}`,
      inHeader(hostileText(random, 9_000)),
    ];
    set(draft, 'Cookie', random.pick(cookies));
  },
  authorization: (draft, random, { target }) => {
    const { admin, scoped, internal } = target.credentials;
    const token = random.pick([...Object.values(scoped), internal, admin]);
    const values = [
      `Bearer ${random.pick(Object.values(scoped))}`,
      `Bearer ${flip(token, random)}`,
      `Bearer  ${token}`,
      `bearer ${token}`,
      `Bearer ${token}, Bearer ${token}`,
      `Basic ${token}`,
      `Basic ${Buffer.from(`:${token}`).toString('base64')}`,
      `Basic ${'A'.repeat(8_000)}`,
      'Bearer',
      'Bearer undefined',
      'Negotiate x',
      inHeader(hostileText(random, 9_000)),
    ];
    set(draft, 'Authorization', random.pick(values));
  },
  range: header('Range', [
    'bytes=0-',
    'bytes=-1',
    'bytes=-0',
    'bytes=9-1',
    'bytes=0-0,1-1',
    `bytes=${'0-0,'.repeat(1_000)}1-1`,
    'bytes=99999999999999999999-',
    'lines=1-2',
    'bytes=--1',
  ]),
  'if-match': header('If-Match', ['*', 'W/"x"', '"x"', '"', ',,,', `"${'a'.repeat(9_000)}"`, '"x", "y"']),
  'if-none-match': header('If-None-Match', ['*', 'W/"x"', '"', ',,,', `${'"a", '.repeat(1_500)}"b"`]),
  'idempotency key': header('Idempotency-Key', ['', ' ', 'a b', 'a'.repeat(255), 'a'.repeat(256), 'shared-key-1', 'é', '__proto__']),
  'request id': header('X-Request-Id', ['a'.repeat(65), 'a b', '../x', 'é', '%0d%0aInjected: yes']),
  forwarded: (draft, random) => {
    set(draft, 'X-Forwarded-For', random.pick(['127.0.0.1', 'x'.repeat(3_000), '::1, 10.0.0.1', '"']));
    set(draft, 'X-Forwarded-Proto', random.pick(['https', 'javascript', '']));
    set(draft, 'X-Forwarded-Host', random.pick(['evil.example', 'a b', '[::1']));
  },
  host: header('Host', ['evil.example', '[::1', 'a:99999', '', 'localhost:1@evil.example', '..', 'x'.repeat(5_000)]),
  accept: header('Accept-Encoding', ['gzip;q=0', '*;q=0', 'x'.repeat(5_000), ',,,;q=;', 'gzip;q=1e400']),
  prefer: header('Prefer', ['wait=0', 'wait=-1', 'wait=1e9', 'respond-async', `${'wait=1,'.repeat(1_000)}x`]),
  'last event': header('Last-Event-ID', ['-1', '0-0', '9'.repeat(30), 'x', '1-1-1', '%00']),
  trace: header('traceparent', ['00-0-0-00', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`, 'ff-x', 'a'.repeat(5_000)]),
  override: header('X-HTTP-Method-Override', ['DELETE', 'PUT']),
  expect: (draft) => set(draft, 'Expect', '100-continue'),
  many: (draft) => draft.headers.push(...Array.from({ length: 900 }, (_, i): [string, string] => [`X-${i}`, 'y'])),
};

/** Mutations of path and method, by name. A mutated request may match another operation or no operation. */
const PATHS: Readonly<Record<string, Mutation>> = {
  method: (draft, random) => {
    draft.method = random.pick(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'SEARCH', 'PROPFIND', 'QUERY']);
  },
  preflight: (draft, random, { target }) => {
    draft.method = 'OPTIONS';
    set(draft, 'Origin', random.pick([target.publicUrl, 'https://evil.example']));
    set(draft, 'Access-Control-Request-Method', random.pick(['POST', 'x', '']));
  },
  path: (draft, random) => {
    const { path } = draft;
    const cut = path.lastIndexOf('/');
    const [head, last] = [path.slice(0, cut), path.slice(cut + 1)];
    draft.path = random.pick([
      `${path}/`,
      `/${path}`,
      `${path}%00`,
      `${path}%2f`,
      `${path};a=b`,
      `${path}/..`,
      `${path}/%2e%2e/%2e%2e`,
      `${head}/../${last}`,
      `${head}/%2e%2e%2f${last}`,
      `${head}//${last}`,
      `${head}/./${last}`,
      path.toUpperCase(),
      path.replace(/[a-z]/, (c) => `%${c.charCodeAt(0).toString(16)}`),
      path.replace(/[a-z]/, (c) => `%25${c.charCodeAt(0).toString(16)}`),
      `${head}/%zz`,
      `${head}/%c0%ae`,
      `${head}/%u0000`,
      `${head}/${'a'.repeat(random.pick([511, 512, 513, 8_000]))}`,
      `${head}/__proto__`,
      `${head}/${encodeURIComponent(hostileText(random, 600).toWellFormed())}`,
      `${path}?${'?'.repeat(50)}`,
      `${path}?a=%zz&%zz=%00&=&&;`,
      `${path}#fragment`,
      '/docs/../../../../etc/passwd',
      '/docs/%2e%2e/package.json',
      '/admin/queues/static/..%2f..%2f..%2fetc%2fpasswd',
      '/admin/queues/api/queues?activeQueue=scores&page=-1&status=%00',
      '/admin/queues/queue/__proto__',
      '/openapi.json/x',
      '/.git/config',
      '/metrics',
    ]);
  },
  absolute: (draft, random) => {
    draft.path =
      random.pick([
        'http://evil.example',
        'http://localhost',
        'HTTP://u:p@h:1',
        'https://[::1]',
        'http://[::1',
        'ftp://x',
        'http://a:99999',
        'mailto:x',
        'http://%00',
      ]) + draft.path;
  },
};

/** Applies one or three random mutations of headers. */
export function mutateHeaders(draft: Draft, random: Random, state: ClientState): void {
  const times = random.chance(0.2) ? 3 : 1;
  for (let i = 0; i < times; i++) {
    const [name, mutation] = random.pick(Object.entries(HEADERS));
    mutation(draft, random, state);
    draft.mutations.push(name);
    // The service may reject these headers before it selects the operation. The OpenAPI document lists no statuses of this rejection for the
    // operation.
    if (name === 'many' || name === 'host' || name === 'origin' || name === 'site') draft.isUndocumented = true;
  }
}

export function mutatePath(draft: Draft, random: Random, state: ClientState): void {
  const [name, mutation] = random.pick(Object.entries(PATHS));
  mutation(draft, random, state);
  draft.mutations.push(name);
  draft.isUndocumented = true;
}
