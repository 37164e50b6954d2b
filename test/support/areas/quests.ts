import { randomUUID } from 'node:crypto';
import { type Activity, appendActivities, type Consumer, consumeActivities } from '#areas/points';
import { questConsumer } from '#areas/quests';
import type { App } from '#platform/app.ts';
import { ADMIN_TOKEN, type TestApp } from '../app.ts';
import { createWallet, type JsonInit, type SignedIn, send, signIn } from '../wallet.ts';
import { sql } from './boards.ts';

const others: readonly Consumer[] = [
  { name: 'referrals', bit: 1, consume: async () => [] },
  { name: 'battles', bit: 4, consume: async () => [] },
];

/** Appends activities; what is not said of one does not matter. */
export async function act(app: App, ...activities: (Pick<Activity, 'kind' | 'wallet'> & Partial<Activity>)[]): Promise<void> {
  await app.tx((tx) =>
    appendActivities(
      tx,
      activities.map((activity) => ({ sourceId: randomUUID(), gameId: null, amount: 0, ...activity })),
    ),
  );
}

/** Has quests consume what is open. */
export async function consume(app: App, consumer: Consumer = questConsumer): Promise<void> {
  while (await consumeActivities(app, [...others, consumer]));
}

/** A request with the admin token. */
export function asAdmin(t: Pick<TestApp, 'url'>, path: string, init: JsonInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${ADMIN_TOKEN}`);
  return send(t, path, { ...init, headers });
}

/** A quest, with what does not matter filled in. @returns its id */
export async function makeQuest(t: Pick<TestApp, 'url'>, quest: { requirement: object } & Record<string, unknown>): Promise<string> {
  const response = await asAdmin(t, '/quests', { json: { title: 'A quest', points: 100, ...quest } });
  if (response.status !== 201) throw new Error(`POST /quests answered ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { id: string }).id;
}

/** What a quest is to a wallet, as far as tests look. */
export interface Own {
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

/** A quest as its wallet sees it. */
export async function ownQuest(player: Pick<SignedIn, 'fetch'>, id: string): Promise<Own | undefined> {
  const quests = (await (await player.fetch('/me/quests?limit=500')).json()) as Own[];
  return quests.find((quest) => quest.id === id);
}

/** What the ledger says that quests gave: quest and window, points. */
export async function earned(app: App, wallet: string): Promise<Record<string, number>> {
  const rows = await sql<{ source_id: string; points: number }>(
    app,
    `select source_id, points::int as points from ledger where wallet = $1 and kind = 'quest' order by source_id`,
    [wallet],
  );
  return Object.fromEntries(rows.map((row) => [row.source_id, row.points]));
}

/** Takes every quest away, so that a test knows what there is. */
export const noQuests = (app: App) => sql(app, 'update quests set deleted_at = app_now() where deleted_at is null');

/** What wallets do, briefly. */
export const deeds = (app: App) => ({
  plays: (wallet: string, n: number, gameId = 'alpha') => act(app, ...Array.from({ length: n }, () => ({ kind: 'play' as const, wallet, gameId }))),
  score: (wallet: string, amount: number, gameId = 'alpha', sourceId: string = randomUUID()) =>
    act(app, { kind: 'score', wallet, gameId, amount, sourceId }),
});

/** A wallet that signs in anew whenever it looks: sessions end while days pass. */
export function visitor(t: Pick<TestApp, 'url'>) {
  const key = createWallet();
  return { wallet: key.address, fetch: async (path: string) => await (await signIn(t, key)).fetch(path) };
}

const DAY = 86_400_000;

/** Days that pass: noon of the day after tomorrow to begin with, and only forwards. */
export async function calendar(t: TestApp) {
  let today = Math.floor(Date.now() / DAY) + 2;
  const go = async (days: number) => {
    today += days;
    await t.clock.set(new Date(today * DAY + DAY / 2));
  };
  await go(0);
  return {
    /** The UTC day number. */
    today: () => today,
    go,
    /** The next Monday but one. */
    monday: () => go(7 + ((7 - ((today + 3) % 7)) % 7)),
    text: () => new Date(today * DAY).toISOString().slice(0, 10),
  };
}
