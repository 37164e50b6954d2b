import { randomUUID } from 'node:crypto';
import { type Activity, activitiesAsJson, appendActivities, type Consumer, consumeActivities, insertBatch, isVoiding } from '#areas/points';
import { completeQuests, questConsumer, sweepQuests } from '#areas/quests';
import { linkAccount } from '#areas/social';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { ADMIN_TOKEN, type TestApp } from '../app.ts';
import { createWallet, type JsonInit, type SignedIn, send, signIn } from '../wallet.ts';
import { sql } from './boards.ts';

const otherConsumers: readonly Consumer[] = [
  { name: 'referrals', bit: 1, consume: async () => [] },
  { name: 'battles', bit: 4, consume: async () => [] },
];

// As the arcade does it: a play or score is its own activity, and names its batch. The list of columns continues the clause `returning id`.
const insertCauses = statement(
  'test_insert_causes',
  `with batch as (${insertBatch('app_now()', '$1::json')} , day, at, activities),
   cause as (select b.*, a->>0 as kind, (a->>1)::uuid as cause, a->>2 as wallet, coalesce(a->>3, '') as game, (a->>4)::int as amount from batch b, json_array_elements(b.activities) a),
   play as (insert into plays (id, wallet, game_id, started_at, batch) select cause, wallet, game, at, id from cause where kind = 'play')
   insert into scores (id, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, day, at, batch)
   select cause, wallet, game, 1, '', amount, amount, 0, false, 'accepted', 'regular', day, at, id from cause where kind = 'score'`,
);
const setStatus = statement('test_set_status', 'update scores set status = $2 where id = $1');

/** Appends activities, with defaults for missing fields, and stores the plays and scores that cause them. Plays and scores come first, then the others. */
export async function act(app: App, ...activities: (Pick<Activity, 'kind' | 'wallet'> & Partial<Activity>)[]): Promise<void> {
  const all = activities.map((activity) => ({ sourceId: newId(), gameId: null, amount: 0, ...activity }));
  const isCause = ({ kind }: Activity) => kind === 'play' || kind === 'score';
  await app.tx(async (tx) => {
    await tx.query(insertCauses, [activitiesAsJson(all.filter(isCause))]);
    for (const { kind, sourceId } of all) if (isVoiding(kind)) await tx.query(setStatus, [sourceId, kind === 'restore' ? 'accepted' : 'voided']);
    await appendActivities(
      tx,
      all.filter((activity) => !isCause(activity)),
    );
  });
}

/** Runs the quest consumer until no batch is left. */
export async function consume(app: App, consumer: Consumer = questConsumer): Promise<void> {
  while (await consumeActivities(app, [...otherConsumers, consumer]));
}

/** Completes the quests whose requirement was met without a new activity. Evaluates all wallets first. */
export async function settle(app: App): Promise<void> {
  await sweepQuests(app);
  await completeQuests(app);
}

/** Sends a request with the admin token. */
export function asAdmin(t: Pick<TestApp, 'url'>, path: string, init: JsonInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${ADMIN_TOKEN}`);
  return send(t, path, { ...init, headers });
}

/** Creates a quest, with defaults for missing fields. @returns its id */
export async function makeQuest(t: Pick<TestApp, 'url'>, quest: { requirement: object } & Record<string, unknown>): Promise<string> {
  const response = await asAdmin(t, '/quests', { json: { title: 'A quest', points: 100, ...quest } });
  if (response.status !== 201) throw new Error(`POST /quests answered ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { id: string }).id;
}

/** The fields of OwnQuest that tests read. */
export interface OwnQuestFields {
  id: string;
  progress: { have: number | string; need: number | string; met: boolean }[];
  met: boolean;
  missing: string[];
  windowKey: string;
  completed: boolean;
  completedAt: string | null;
  pointsAwarded: number | null;
  resetsAt: string | null;
}

/** Reads a quest with the progress of a wallet. */
export async function ownQuest(player: Pick<SignedIn, 'fetch'>, id: string): Promise<OwnQuestFields | undefined> {
  const quests = (await (await player.fetch('/me/quests?limit=500')).json()) as OwnQuestFields[];
  return quests.find((quest) => quest.id === id);
}

/** Reads the quest points of a wallet from the ledger: `<quest>:<window>` → points. */
export async function earned(app: App, wallet: string): Promise<Record<string, number>> {
  const rows = await sql<{ source_id: string; points: number }>(
    app,
    `select source_id, points::int as points from ledger where wallet = $1 and kind = 'quest' order by source_id`,
    [wallet],
  );
  return Object.fromEntries(rows.map((row) => [row.source_id, row.points]));
}

/** Deletes all quests, so that each test starts with none. */
export const deleteAllQuests = (app: App) => sql(app, 'update quests set deleted_at = app_now() where deleted_at is null');

/** Links an X account to a wallet and credits its follow of the arcade's account. @returns the id of the account */
export async function follow(app: App, wallet: string): Promise<string> {
  const accountId = randomUUID();
  await app.tx((tx) => linkAccount(tx, { platform: 'x', accountId, handle: 'somebody', wallet }));
  await act(app, { kind: 'follow', wallet, sourceId: `x:${accountId}` });
  return accountId;
}

/** Returns functions that append activities of one kind. */
export const activitiesOf = (app: App) => ({
  plays: (wallet: string, n: number, gameId = 'alpha') => act(app, ...Array.from({ length: n }, () => ({ kind: 'play' as const, wallet, gameId }))),
  score: (wallet: string, amount: number, gameId = 'alpha', sourceId: string = newId()) =>
    act(app, { kind: 'score', wallet, gameId, amount, sourceId }),
});

/** Creates a wallet that signs in before each request, because sessions expire when the test advances by days. */
export function visitor(t: Pick<TestApp, 'url'>) {
  const key = createWallet();
  return { wallet: key.address, fetch: async (path: string) => await (await signIn(t, key)).fetch(path) };
}

const DAY = 86_400_000;

/** Returns a clock control that starts at noon (UTC) of the day after tomorrow and only moves forward. */
export async function calendar(t: TestApp) {
  let today = Math.floor(Date.now() / DAY) + 2;
  const go = async (days: number) => {
    today += days;
    await t.clock.set(new Date(today * DAY + DAY / 2));
  };
  await go(0);
  return {
    /** Returns the current UTC day number. */
    today: () => today,
    go,
    /** Goes to the Monday after next. */
    monday: () => go(7 + ((7 - ((today + 3) % 7)) % 7)),
    text: () => new Date(today * DAY).toISOString().slice(0, 10),
  };
}
