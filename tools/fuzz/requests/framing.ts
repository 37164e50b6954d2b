import type { OutgoingRequest } from '../connection.ts';
import type { Random } from '../random.ts';
import type { Draft } from './request-builder.ts';

/** Maximum time until the response, ms. It is long, because the machine may be busy. */
const TIMEOUT_MS = 40_000;
/** Delays between sending a request and disconnecting, ms. */
const DISCONNECT_DELAYS_MS = [0, 1, 5, 30] as const;

const escaped = (text: string) => encodeURIComponent(text).replaceAll('%20', '+');

/** Returns the request target of the HTTP request line: path and query. */
function targetOf({ path, query }: Draft): string {
  const text = query.map(([name, value]) => (value === '' ? escaped(name) : `${escaped(name)}=${escaped(value)}`)).join('&');
  return text === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${text}`;
}

function headOf(draft: Draft, host: string, more: readonly string[] = [], version = 'HTTP/1.1'): string {
  const { method, headers } = draft;
  const hosts = headers.some(([name]) => name === 'Host') ? [] : [`Host: ${host}`];
  return [`${method} ${targetOf(draft)} ${version}`, ...hosts, ...headers.map(([name, value]) => `${name}: ${value}`), ...more, '', ''].join('\r\n');
}

const lengthOf = ({ body, method }: Draft) =>
  body === null ? (method === 'GET' || method === 'HEAD' ? [] : ['Content-Length: 0']) : [`Content-Length: ${body.length}`];

/** Returns the bytes of a request with the framing that ordinary clients use. */
export function withNormalFraming(draft: Draft, host: string): OutgoingRequest {
  const bytes = Buffer.concat([Buffer.from(headOf(draft, host, lengthOf(draft)), 'latin1'), draft.body ?? Buffer.alloc(0)]);
  return { bytes, methods: [draft.method], timeoutMs: TIMEOUT_MS };
}

type Framing = (draft: Draft, host: string, random: Random) => Omit<OutgoingRequest, 'timeoutMs'>;
const latin1 = (text: string) => Buffer.from(text, 'latin1');
const whole = (draft: Draft, head: string, body: Buffer = draft.body ?? Buffer.alloc(0)) => Buffer.concat([latin1(head), body]);
const chunks = (body: Buffer, size: number, extension = '') => {
  const parts = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    parts.push(latin1(`${part.length.toString(16)}${extension}\r\n`), part, latin1('\r\n'));
  }
  return Buffer.concat([...parts, latin1('0\r\n\r\n')]);
};
const singleRequest = (draft: Draft, bytes: Buffer, halfCloses = true) => ({ bytes, methods: [draft.method], halfCloses });

/**
 * Unusual, wrong or ambiguous ways to frame a request, by name. Framing defines where a request begins and ends; two servers may interpret an
 * ambiguous framing differently.
 */
const FRAMINGS: Readonly<Record<string, Framing>> = {
  chunked: (draft, host, random) =>
    singleRequest(
      draft,
      whole(draft, headOf(draft, host, ['Transfer-Encoding: chunked']), chunks(draft.body ?? latin1(''), random.pick([1, 7, 4_096]))),
      false,
    ),
  'chunk extensions': (draft, host) =>
    singleRequest(
      draft,
      whole(draft, headOf(draft, host, ['Transfer-Encoding: chunked']), chunks(draft.body ?? latin1('{}'), 1, `;${'x'.repeat(4_000)}`)),
    ),
  'wrong chunks': (draft, host, random) =>
    singleRequest(
      draft,
      whole(
        draft,
        headOf(draft, host, ['Transfer-Encoding: chunked']),
        latin1(
          random.pick([
            'zz\r\n{}\r\n',
            '-1\r\n',
            'ffffffffffffffff\r\n{}',
            '2\r\n{}{}\r\n0\r\n\r\n',
            '0x2\r\n{}\r\n0\r\n\r\n',
            '\r\n',
            '2 \r\n{}\r\n0\r\n\r\n',
          ]),
        ),
      ),
    ),
  'length too large': (draft, host, random) =>
    singleRequest(
      draft,
      whole(draft, headOf(draft, host, [`Content-Length: ${(draft.body?.length ?? 0) + random.pick([1, 100, 300_000, 2 ** 40])}`])),
    ),
  'length too small': (draft, host) => ({
    bytes: whole(draft, headOf(draft, host, ['Content-Length: 1']), Buffer.concat([draft.body ?? latin1(''), latin1('{}x')])),
    methods: [draft.method, 'GET'],
    halfCloses: true,
  }),
  'length wrong': (draft, host, random) =>
    singleRequest(
      draft,
      whole(draft, headOf(draft, host, [`Content-Length: ${random.pick(['-1', '1e3', '0x10', '', '٣', '+1', '1,1', '99999999999999999999'])}`])),
    ),
  'two lengths': (draft, host) => singleRequest(draft, whole(draft, headOf(draft, host, ['Content-Length: 2', 'Content-Length: 3']))),
  'length and chunked': (draft, host) => ({
    bytes: whole(
      draft,
      headOf(draft, host, ['Content-Length: 4', 'Transfer-Encoding: chunked']),
      latin1('0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'),
    ),
    methods: [draft.method, 'GET'],
    halfCloses: true,
  }),
  'strange encoding': (draft, host, random) =>
    singleRequest(
      draft,
      whole(
        draft,
        headOf(draft, host, [
          `Transfer-Encoding: ${random.pick(['xchunked', 'chunked, identity', 'gzip, chunked', 'chunked\t', '"chunked"', 'identity'])}`,
        ]),
        chunks(draft.body ?? latin1('{}'), 64),
      ),
    ),
  'http/1.0': (draft, host) => singleRequest(draft, whole(draft, headOf(draft, host, lengthOf(draft), 'HTTP/1.0')), false),
  version: (draft, host, random) =>
    singleRequest(
      draft,
      whole(draft, headOf(draft, host, lengthOf(draft), random.pick(['HTTP/2.0', 'HTTP/1.2', 'HTTP/0.9', 'HTTP/1.1x', 'http/1.1', '']))),
    ),
  'no host': (draft, host) => singleRequest(draft, whole(draft, headOf(draft, host, lengthOf(draft)).replace(/\r\nHost: [^\r]*/, ''))),
  'two hosts': (draft, host) => singleRequest(draft, whole(draft, headOf(draft, host, ['Host: evil.example', ...lengthOf(draft)])), false),
  'line feeds': (draft, host) => singleRequest(draft, whole(draft, headOf(draft, host, lengthOf(draft)).replaceAll('\r\n', '\n'))),
  folded: (draft, host) => singleRequest(draft, whole(draft, headOf(draft, host, ['X-Folded: a\r\n b', ...lengthOf(draft)]))),
  'wrong header': (draft, host, random) =>
    singleRequest(
      draft,
      whole(
        draft,
        headOf(draft, host, [
          random.pick(['X-A: a\u0000b', 'X A: b', ': b', 'X-A', 'X-A\u00e9: b', 'X-A : b', 'Host : x', 'X-A: a\rb', '\u0000', 'X-A: \u0007']),
          ...lengthOf(draft),
        ]),
      ),
    ),
  'wrong method': (draft, host, random) =>
    singleRequest(
      draft,
      whole(
        draft,
        headOf(draft, host, lengthOf(draft)).replace(/^\w+/, random.pick(['get', 'FOO', 'G\u0000T', 'X'.repeat(9_000), '', 'PRI', 'CONNECT'])),
      ),
    ),
  'wrong target': (draft, host, random) =>
    singleRequest(
      draft,
      whole(
        draft,
        headOf(draft, host, lengthOf(draft)).replace(
          / \S+ /,
          ` ${random.pick(['', '*', 'foo', '\u00e9', '/\u0000', '/ /', '/\t', '/\u007f', '?', '#', '//', '///[', '/\\..\\'])} `,
        ),
      ),
    ),
  pipelined: (draft, host) => {
    const once = whole(draft, headOf(draft, host, lengthOf(draft)));
    return { bytes: Buffer.concat([once, once, once]), methods: [draft.method, draft.method, draft.method] };
  },
  'pipelined with garbage': (draft, host) => ({
    bytes: Buffer.concat([whole(draft, headOf(draft, host, lengthOf(draft))), latin1('\r\nrubbish\r\n\r\n')]),
    methods: [draft.method, 'GET'],
    halfCloses: true,
  }),
  'huge header': (draft, host) => singleRequest(draft, whole(draft, headOf(draft, host, [`X-Huge: ${'h'.repeat(70_000)}`, ...lengthOf(draft)]))),
  'disconnect during the body': (draft, host, random) => {
    const { body } = draft;
    const half = body?.subarray(0, Math.ceil(body.length / 2));
    return {
      bytes: whole(draft, headOf(draft, host, lengthOf(draft)), half),
      methods: [draft.method],
      disconnectAfterMs: random.pick(DISCONNECT_DELAYS_MS),
    };
  },
  'disconnect before the response': (draft, host, random) => ({
    ...{ bytes: whole(draft, headOf(draft, host, lengthOf(draft))), methods: [draft.method], disconnectAfterMs: random.pick(DISCONNECT_DELAYS_MS) },
  }),
  'no end': (draft, host) => singleRequest(draft, latin1(headOf(draft, host, lengthOf(draft)).slice(0, -2))),
  'wrong expectation': (draft, host) => singleRequest(draft, whole(draft, headOf(draft, host, ['Expect: miracles', ...lengthOf(draft)]))),
  upgrade: (draft, host, random) =>
    singleRequest(
      draft,
      whole(
        draft,
        headOf(draft, host, [
          'Connection: Upgrade',
          `Upgrade: ${random.pick(['websocket', 'h2c', 'x'])}`,
          'Sec-WebSocket-Version: 13',
          'Sec-WebSocket-Key: x',
          ...lengthOf(draft),
        ]),
      ),
    ),
};

/** Returns the bytes of a request with a random framing of `FRAMINGS`. Adds the name of this framing to the mutations of the draft. */
export function withHostileFraming(draft: Draft, host: string, random: Random): OutgoingRequest {
  const [name, framing] = random.pick(Object.entries(FRAMINGS));
  draft.mutations.push(name);
  draft.isUndocumented = true;
  return { ...framing(draft, host, random), timeoutMs: TIMEOUT_MS };
}
