import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { startTestApp, type TestApp } from '../app.ts';
import { hashOf, xHeaders } from '../http/webhook.ts';
import { nextXId, startXServer, type XServer, type XUser } from '../servers/x-server.ts';
import { type JsonInit, type SignedIn, send } from '../wallet.ts';
import { sql } from './boards.ts';
import { retryUntilPass } from './player.ts';

/** The secret that signs deliveries of X to a test application. */
export const X_SECRET = 'consumer-secret-of-x-0123456789';
/** The arcade's own account. */
export const ARCADE_ACCOUNT: XUser = { id: '1111111111111111111', username: 'CoinopArcade' };

export interface SocialTest extends TestApp {
  readonly x: XServer;
}

/** Starts an application with its own X server. */
export async function startSocialTest(options: { workers?: boolean; env?: Record<string, string> } = {}): Promise<SocialTest> {
  const x = await startXServer();
  // A loaded test machine may pause for seconds, so the timeout is long.
  const env = {
    ...x.env,
    X_TIMEOUT_MS: '60000',
    X_POST_READS_PER_HOUR: '10000',
    WEBHOOK_SECRET_X: X_SECRET,
    X_ACCOUNT_ID: ARCADE_ACCOUNT.id,
    ...options.env,
  };
  const t = await startTestApp({ ...options, env });
  return {
    ...t,
    x,
    async close() {
      await t.close();
      await x.close();
    },
  };
}

interface StartedLink {
  platform: string;
  method: string;
  url: string;
  state: string | null;
  challenge: string | null;
  expiresAt: string;
}
export interface ParsedResponse<Body = Record<string, unknown>> {
  status: number;
  body: Body;
  headers: Headers;
}
/** Sends a request with a session. The body of 204 is null. */
export async function request<Body = Record<string, unknown>>(
  player: Pick<SignedIn, 'fetch'>,
  path: string,
  init: JsonInit = {},
): Promise<ParsedResponse<Body>> {
  const response = await player.fetch(path, init);
  const text = await response.text();
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body, headers: response.headers };
}

/** Starts linking. */
export async function start(player: Pick<SignedIn, 'fetch'>, method: 'oauth' | 'challenge' = 'oauth'): Promise<StartedLink> {
  const { status, body } = await request<StartedLink>(player, '/auth/social/link/start', { json: { method } });
  expect([status, body.method]).toEqual([200, method]);
  return body;
}
export const verify = (player: Pick<SignedIn, 'fetch'>, json: unknown) => request(player, '/auth/social/link/verify', { json });

/** Links an account by signing in to X as its owner. */
export async function linkX(t: Pick<SocialTest, 'x'>, player: Pick<SignedIn, 'fetch'>, user: XUser): Promise<ParsedResponse> {
  return await verify(player, await t.x.authorize((await start(player)).url, user));
}

/** Reads the engagements of a wallet as `<kind> <source id>`, such as `follow x:1`. */
export async function engagementsOf(t: Pick<TestApp, 'app'>, wallet: string): Promise<string[]> {
  const rows = await sql<{ engagement: string }>(
    t.app,
    `select kind || ' ' || source_id as engagement from activities where wallet = $1 and kind in ('link', 'follow', 'repost', 'mention') order by 1`,
    [wallet],
  );
  return rows.map(({ engagement }) => engagement);
}

/** Delivers a body as X does. */
export function deliverX(t: Pick<TestApp, 'url'>, body: unknown, secret = X_SECRET): Promise<Response> {
  const text = JSON.stringify(body);
  return send(t, '/integrations/x/events', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...xHeaders(secret, text) },
    body: text,
  });
}

/** Delivers a body and waits for its verdict. */
export async function deliverAndReadVerdict(t: Pick<TestApp, 'app' | 'url'>, body: unknown): Promise<string> {
  const response = await deliverX(t, body);
  expect([response.status, await response.json()]).toEqual([200, { received: true }]);
  return await readVerdict(t, body);
}

/** Waits until a delivery is processed. @returns its state and verdict */
export async function readVerdict(t: Pick<TestApp, 'app'>, body: unknown): Promise<string> {
  let row: { state: string; verdict: string | null } | undefined;
  await retryUntilPass(async () => {
    const id = hashOf(JSON.stringify(body));
    [row] = await sql<{ state: string; verdict: string | null }>(
      t.app,
      `select state, verdict from webhook_deliveries where source = 'x' and id = $1`,
      [id],
    );
    expect(row?.state).not.toBe('received');
  }, 60_000);
  return `${row?.state}: ${row?.verdict}`;
}

type Fields = Record<string, unknown>;
const longTime = (at: Date) => `${at.toUTCString().replace(/^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/, '$1 $3 $2 $5 +0000 $4')}`;

/** Builds deliveries of the Account Activity API. */
export const accountActivity = {
  /** In posts, the numeric id has lost precision. */
  user: ({ id, username }: XUser): Fields => ({ id: Number(id), id_str: id, name: username, screen_name: username, protected: false }),
  tweet: (author: XUser, at: Date, more: Fields = {}, id = nextXId()): Fields => ({
    ...{ created_at: longTime(at), id: Number(id), id_str: id, text: 'hello', truncated: false, display_text_range: [0, 200] },
    ...{ user: accountActivity.user(author), is_quote_status: false, entities: { hashtags: [], urls: [], user_mentions: [], symbols: [] }, ...more },
  }),
  mentions: (start: number, user: XUser = ARCADE_ACCOUNT): Fields => ({
    hashtags: [],
    user_mentions: [{ ...accountActivity.user(user), indices: [start, start + 1 + user.username.length] }],
  }),
  follow: (source: XUser, target: XUser, at: Date, type = 'follow'): Fields => ({
    ...{ type, created_timestamp: String(at.getTime()) },
    target: { id: target.id, name: target.username, screen_name: target.username },
    source: { id: source.id, name: source.username, screen_name: source.username },
  }),
  delivery: (events: Fields): Fields => ({ for_user_id: ARCADE_ACCOUNT.id, ...events }),
};

/** Builds deliveries of the X Activity API. */
export const activityEvent = {
  user: ({ id, username }: XUser): Fields => ({ id, username, name: username, protected: false, created_at: '2023-10-23T13:44:53.000Z' }),
  of: (type: string, payload: Fields, more: Fields = {}): Fields => ({
    data: { event_uuid: randomUUID(), filter: { user_id: ARCADE_ACCOUNT.id }, event_type: type, tag: 'arcade', payload, ...more },
  }),
  follow: (source: XUser, target: XUser = ARCADE_ACCOUNT): Fields =>
    activityEvent.of('follow.follow', { source: { data: activityEvent.user(source) }, target: { data: activityEvent.user(target) } }),
  post: (type: string, author: XUser, at: Date, payload: Fields = {}, more: Fields = {}): Fields => {
    const id = nextXId();
    return activityEvent.of(
      type,
      {
        id,
        author_id: author.id,
        created_at: at.toISOString(),
        edit_history_tweet_ids: [id],
        text: 'hello',
        display_text_range: [0, 200],
        ...payload,
      },
      { includes: { users: [activityEvent.user(author), activityEvent.user(ARCADE_ACCOUNT)] }, ...more },
    );
  },
  mentions: (start: number, user: XUser = ARCADE_ACCOUNT): Fields => ({
    mentions: [{ start, end: start + 1 + user.username.length, username: user.username, id: user.id }],
  }),
};
