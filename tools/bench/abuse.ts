import { SYSTEM_ADMIN_TOKEN, SYSTEM_ORIGIN, type System, startSystem } from '#dev/stack/system.ts';
import { report } from './support/report.ts';
import { type BenchWallet, SESSION_KEY, signedInWallets, withDatabase } from './support/wallets.ts';

/**
 * This benchmark plays the scripts of cheats against a running system, and prints what each cheat gains and what an honest player loses: with the rules
 * that every game has by default, and with the rules switched off.
 */

/** Wallets of the farm. Each signs in and plays once. */
const FARM = Number(process.env.BENCH_FARM ?? 1_000);
const MAX = 100_000;
const HONEST = 12;
/** Honest players submit this many scores, so that they are no newcomers. */
const HONEST_SCORES = 6;

const OFF = {
  maxLivePlays: 1_000,
  review: { perfectFrom: null, repeatedScores: null, overlapSec: null, newcomerScores: null, maxHeldPerWallet: 1_000 },
};
const DEFINITION = {
  name: 'Abused game',
  category: 'bench',
  normalization: { method: 'linear', min: 0, max: MAX, direction: 'higher' },
  pointsPer10000: 500,
  caps: { dailyPoints: 5_000, minDurationMs: 0, maxDurationMs: 3_600_000 },
  verification: 'play',
};

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & { status?: string; playId?: string };
}

/** Sends a request of a wallet, or of an operator. */
async function request(of: System, by: BenchWallet | null, method: string, path: string, json?: unknown): Promise<Answer> {
  const headers: Record<string, string> = by
    ? { Cookie: by.cookie, Origin: SYSTEM_ORIGIN, 'Content-Type': 'application/json' }
    : { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${of.urls[0]}${path}`, { method, headers, ...(json === undefined ? {} : { body: JSON.stringify(json) }) });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const startPlay = async (of: System, by: BenchWallet, gameId: string): Promise<string> => {
  const { status, body } = await request(of, by, 'POST', `/game/${gameId}/play`);
  if (body.playId === undefined) throw new Error(`the start of a play answered ${status}: ${JSON.stringify(body)}`);
  return body.playId;
};
const submit = (of: System, by: BenchWallet, gameId: string, score: number, playId: string) =>
  request(of, by, 'POST', '/arcade/score', { gameId, score, playId });
const play = async (of: System, by: BenchWallet, gameId: string, score: number) =>
  await submit(of, by, gameId, score, await startPlay(of, by, gameId));

async function openGame(of: System, id: string, changes: object): Promise<void> {
  const { status, body } = await request(of, null, 'PUT', `/admin/games/${id}`, { ...DEFINITION, ...changes });
  if (status >= 300) throw new Error(`the game ${id} was refused with ${status}: ${JSON.stringify(body)}`);
}

/** Creates honest players with scores between 30 % and 42 % of the maximum. */
async function honestPlayers(of: System, gameId: string): Promise<BenchWallet[]> {
  const players = await signedInWallets(of, HONEST);
  for (const [i, player] of players.entries()) {
    // Each player first scores less than all earlier scores, so that none of these scores enters a full top ten. The last score is good, and the player is no
    // newcomer then.
    for (let n = 1; n < HONEST_SCORES; n++) await play(of, player, gameId, 10_000 - 600 * i - 100 * n);
    await play(of, player, gameId, 30_000 + 1_000 * i);
  }
  return players;
}

const countOf = (answers: readonly Answer[], status: string) => answers.filter(({ body }) => body.status === status).length;

/** Rank of a wallet on the board of a game; 0 when it is not on the board. */
async function rankOf(of: System, gameId: string, { wallet }: BenchWallet): Promise<number> {
  const response = await fetch(`${of.urls[0]}/game/${gameId}/leaderboard?limit=500`);
  const lines = (await response.json()) as { rank: number; wallet: string }[];
  return lines.find((line) => line.wallet === wallet)?.rank ?? 0;
}

/** Share of the points of a game that wallets have, percent: their share of an epoch in which only this game gives points. */
async function shareOf(of: System, gameId: string, wallets: readonly BenchWallet[]): Promise<number> {
  return await withDatabase(of, async (db) => {
    const { rows } = await db.query(
      `select coalesce(100.0 * sum(points) filter (where wallet = any($2::text[])) / nullif(sum(points), 0), 0)::float8 as share
       from scores s where game_id = $1 and status = 'accepted' and not exists (select from players p where p.wallet = s.wallet and p.banned_at is not null)`,
      [gameId, wallets.map(({ wallet }) => wallet)],
    );
    return rows[0].share;
  });
}

async function fiftyPlays(of: System, rules: string, changes: object): Promise<void> {
  const gameId = rules === 'rules off' ? 'fifty-off' : 'fifty-on';
  await openGame(of, gameId, changes);
  const honest = await honestPlayers(of, gameId);
  const [bot] = await signedInWallets(of, 1);
  if (!bot) return;
  const plays: string[] = [];
  for (let i = 0; i < 50; i++) plays.push(await startPlay(of, bot, gameId));
  const answers = await Promise.all(plays.map((playId) => submit(of, bot, gameId, MAX, playId)));
  report(`bot, 50 plays at once, ${rules}: accepted scores`, countOf(answers, 'accepted'), '');
  report(`bot, 50 plays at once, ${rules}: held scores`, countOf(answers, 'held'), '');
  report(`bot, 50 plays at once, ${rules}: rank of the bot`, await rankOf(of, gameId, bot), '', '0: on no board');
  report(`bot, 50 plays at once, ${rules}: points of the bot`, await shareOf(of, gameId, [bot]), '%');
  report(`bot, 50 plays at once, ${rules}: rank of the best honest player`, await rankOf(of, gameId, honest.at(-1) as BenchWallet), '');
}

async function farm(of: System, rules: string, changes: object): Promise<void> {
  const gameId = rules === 'rules off' ? 'farm-off' : 'farm-on';
  await openGame(of, gameId, changes);
  const honest = await honestPlayers(of, gameId);
  const wallets = await signedInWallets(of, FARM);
  const answers: Answer[] = [];
  for (let i = 0; i < wallets.length; i += 50) {
    answers.push(...(await Promise.all(wallets.slice(i, i + 50).map((wallet, n) => play(of, wallet, gameId, 90_000 + ((i + n) % 5_000))))));
  }
  report(`farm of ${FARM} wallets, ${rules}: accepted scores`, countOf(answers, 'accepted'), '');
  report(`farm of ${FARM} wallets, ${rules}: held scores`, countOf(answers, 'held'), '');
  report(`farm of ${FARM} wallets, ${rules}: points of the farm`, await shareOf(of, gameId, wallets), '%');
  report(
    `farm of ${FARM} wallets, ${rules}: rank of the best honest player`,
    await rankOf(of, gameId, honest.at(-1) as BenchWallet),
    '',
    '0: below the first 500',
  );
}

async function flood(of: System, rules: string, changes: object): Promise<void> {
  const gameId = rules === 'rules off' ? 'flood-off' : 'flood-on';
  // Without rules nothing is held, so this script always switches the rule for perfect scores on.
  await openGame(of, gameId, rules === 'rules off' ? { ...OFF, review: { ...OFF.review, perfectFrom: 9_900 } } : changes);
  const [flooder] = await signedInWallets(of, 1);
  if (!flooder) return;
  const answers: Answer[] = [];
  for (let i = 0; i < 200; i++) answers.push(await play(of, flooder, gameId, MAX - i));
  report(`flooder with 200 scores, ${rules}: held scores`, countOf(answers, 'held'), '');
  report(`flooder with 200 scores, ${rules}: refused scores`, answers.filter(({ status }) => status === 409).length, '');
}

async function bannedCheat(of: System): Promise<void> {
  const gameId = 'cheated';
  await openGame(of, gameId, OFF);
  const honest = await honestPlayers(of, gameId);
  const best = honest.at(-1) as BenchWallet;
  const [cheat] = await signedInWallets(of, 1);
  if (!cheat) return;
  await play(of, cheat, gameId, MAX);
  const print = async (when: string) => {
    report(`cheat, ${when}: rank of the cheat`, await rankOf(of, gameId, cheat), '', '0: on no board');
    report(`cheat, ${when}: points of the cheat`, await shareOf(of, gameId, [cheat]), '%');
    report(`cheat, ${when}: rank of the best honest player`, await rankOf(of, gameId, best), '');
  };
  await print('before the ban');
  await request(of, null, 'POST', `/admin/wallets/${cheat.wallet}/ban`, { reason: 'bot' });
  await untilRank(of, gameId, best, 1);
  await print('banned');
  await request(of, null, 'POST', `/admin/wallets/${cheat.wallet}/unban`);
  await untilRank(of, gameId, cheat, 1);
  await print('after the end of the ban');
}

/** Waits until a wallet has a rank, because a job copies a ban to the boards. */
async function untilRank(of: System, gameId: string, wallet: BenchWallet, rank: number): Promise<void> {
  for (let i = 0; i < 100 && (await rankOf(of, gameId, wallet)) !== rank; i++) await new Promise((resolve) => setTimeout(resolve, 100));
}

const system = await startSystem({ env: { SESSION_KEYS: SESSION_KEY } });
try {
  for (const [rules, changes] of [
    ['rules off', OFF],
    ['default rules', {}],
  ] as const) {
    await fiftyPlays(system, rules, changes);
    await farm(system, rules, changes);
    await flood(system, rules, changes);
  }
  await bannedCheat(system);
} finally {
  await system.stop();
}
