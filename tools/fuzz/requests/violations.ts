import type { ClientState } from '../client-state.ts';
import type { Random } from '../random.ts';
import type { Draft } from './request-builder.ts';

/** A change of a valid request after which the service must reject the request. */
interface Violation {
  /** Statuses that the service may return. 401, 429 and 503 are always allowed too, because players log out and the run is a flood of requests. */
  readonly with: readonly number[];
  /** Returns whether the change is possible for a request. */
  readonly applies: (draft: Draft) => boolean;
  readonly act: (draft: Draft, random: Random, state: ClientState) => void;
  /** Whether the change is possible for few operations only. For these operations it is chosen more often than other changes. */
  readonly isRare?: boolean;
}

/** Maximum size of JSON bodies, bytes. */
const MAX_JSON_BYTES = 256 * 1_024;
const CREDENTIAL = /^(?:cookie|authorization|webhook-.*|x-twitter-webhooks-signature)$/i;
const isUnsafe = ({ method }: Draft) => method !== 'GET';
const isWebhook = ({ operation }: Draft) => operation.callers.some((caller) => caller.startsWith('webhook'));
/** Wallets send the requests of Solana Actions from pages of any origin. */
const isAction = ({ operation }: Draft) => operation.path.startsWith('/actions/');
const isFor = (caller: string) => (draft: Draft) => draft.operation.callers.includes(caller);
const declares = (draft: Draft, name: string) => draft.operation.parameters.some((parameter) => parameter.in === 'header' && parameter.name === name);

/** Replaces the credentials of a request by the given headers. */
function callAs(draft: Draft, ...headers: [name: string, value: string][]): void {
  draft.headers = [...draft.headers.filter(([name]) => !CREDENTIAL.test(name)), ...headers];
}
const bearer = (token: string): [string, string] => ['Authorization', `Bearer ${token}`];

const VIOLATIONS: Readonly<Record<string, Violation>> = {
  'no credentials': { with: [401, 403], applies: (draft) => !isFor('none')(draft), act: (draft) => callAs(draft) },
  'a token of another scope': {
    with: [403],
    applies: ({ operation }) => operation.scopes.length > 0,
    act(draft, random, { target }) {
      const others = Object.entries(target.credentials.scoped).filter(([scope]) => !draft.operation.scopes.includes(scope));
      const tokens = [...others.map(([, token]) => token), target.credentials.internal];
      callAs(draft, bearer(random.pick(tokens)));
    },
  },
  'a session instead of a token': {
    with: [401, 403],
    applies: (draft) => !isFor('none')(draft) && !isFor('session')(draft) && !isWebhook(draft),
    act: (draft, random, state) => callAs(draft, ['Cookie', random.pick(state.players).cookie]),
  },
  'a token instead of a session': {
    with: [401],
    applies: ({ operation }) => operation.callers.join() === 'session',
    act: (draft, _random, { target }) => callAs(draft, bearer(target.credentials.admin)),
  },
  'a forged cookie': {
    with: [401],
    applies: ({ operation }) => operation.callers.join() === 'session',
    act(draft, random, state) {
      const { cookie } = random.pick(state.players);
      const at = random.int(cookie.lastIndexOf('=') + 1, cookie.length - 1);
      callAs(draft, ['Cookie', `${cookie.slice(0, at)}${cookie[at] === 'A' ? 'B' : 'A'}${cookie.slice(at + 1)}`]);
    },
  },
  'a foreign page': {
    with: [403],
    applies: (draft) => isUnsafe(draft) && !isWebhook(draft) && !isFor('basic')(draft) && !isAction(draft),
    act(draft, random, { target }) {
      const origins = [
        'null',
        'https://evil.example',
        `${target.publicUrl}.evil.example`,
        `${target.publicUrl}/`,
        target.publicUrl.replace('http', 'ftp'),
      ];
      draft.headers = draft.headers.filter(([name]) => name !== 'Origin');
      draft.headers.push(random.chance(0.7) ? ['Origin', random.pick(origins)] : ['Sec-Fetch-Site', random.pick(['cross-site', 'same-site', 'x'])]);
    },
  },
  'an object of another player': {
    isRare: true,
    // Status 409 is not allowed, because the service checks the owner of the object before the state of the object.
    with: [400, 403, 404],
    applies: ({ isOwn, player }) => isOwn && player !== null,
    act(draft, random, state) {
      const others = state.players.filter((one) => one !== draft.player);
      draft.player = random.pick(others);
      callAs(draft, ['Cookie', draft.player.cookie]);
    },
  },
  'a version that does not exist': {
    isRare: true,
    with: [400, 403, 404, 409, 412],
    applies: (draft) => declares(draft, 'If-Match'),
    act(draft, random) {
      draft.headers = draft.headers.filter(([name]) => name !== 'If-Match');
      draft.headers.push(['If-Match', random.pick(['"999999999"', '"never"', 'W/"1"', '"1', '1'])]);
    },
  },
  'a body that is too large': {
    // Status 404: the path names an object that cannot exist, which the service checks before it reads the body.
    with: [404, 413],
    applies: (draft) => draft.body !== null && draft.headers.some(([name, value]) => name === 'Content-Type' && value === 'application/json'),
    act(draft, random) {
      const more = MAX_JSON_BYTES + random.pick([1, 100, 100_000]) - (draft.body?.length ?? 0);
      draft.body = Buffer.concat([draft.body ?? Buffer.alloc(0), Buffer.alloc(Math.max(0, more), ' ')]);
    },
  },
  'an invalid idempotency key': {
    isRare: true,
    // Status 404: the path names an object that does not exist, which the service checks first.
    with: [400, 404],
    applies: (draft) => declares(draft, 'Idempotency-Key'),
    act(draft, random) {
      draft.headers = draft.headers.filter(([name]) => name !== 'Idempotency-Key');
      draft.headers.push(['Idempotency-Key', random.pick(['a b', 'a'.repeat(256), '\u00e9'])]);
    },
  },
};

/**
 * Changes a valid request so that the service must reject it, for example because of wrong credentials, a foreign origin, an object of another
 * player, or a body that is too large.
 */
export function violate(draft: Draft, random: Random, state: ClientState): void {
  const possible = Object.entries(VIOLATIONS).filter(([, { applies }]) => applies(draft));
  if (possible.length === 0) return;
  const rare = possible.filter(([, { isRare }]) => isRare);
  const [name, { act, with: statuses }] = random.pick(rare.length > 0 && random.chance(0.6) ? rare : possible);
  act(draft, random, state);
  draft.mutations.push(name);
  draft.expectedStatuses = [...statuses, 401, 429, 503];
}
