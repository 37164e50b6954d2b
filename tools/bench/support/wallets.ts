import { createHash, randomBytes } from 'node:crypto';
import bs58 from 'bs58';
import Keygrip from 'keygrip';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import type { System } from '#dev/stack/system.ts';

export const SESSION_KEY = 'bench-session-key-of-32-characters-or-more';

/** A wallet with a session: its address, and the Cookie header of its requests. */
export interface BenchWallet {
  wallet: string;
  cookie: string;
}

/** Creates wallets with sessions by inserting the rows that a sign-in inserts. */
export async function signedInWallets(system: System, count: number): Promise<BenchWallet[]> {
  const wallets = Array.from({ length: count }, () => bs58.encode(randomBytes(32)));
  return await withDatabase(system, async (db) => {
    await db.query('insert into players (wallet) select unnest($1::text[])', [wallets]);
    return await sessionsOf(db, wallets);
  });
}

/** Inserts a new session for each wallet, as a sign-in does. */
export const newSessions = (system: System, wallets: readonly string[]): Promise<BenchWallet[]> =>
  withDatabase(system, (db) => sessionsOf(db, wallets));

/** Inserts a new session for each wallet, as a sign-in does. */
export async function sessionsOf(db: pg.Client, wallets: readonly string[]): Promise<BenchWallet[]> {
  const keys = new Keygrip([SESSION_KEY], 'sha256');
  const made = wallets.map((wallet) => {
    const id = randomBytes(32).toString('base64url');
    const cookie = `coinop.sid=${id}`;
    return { wallet, id, cookie: `${cookie}; coinop.sid.sig=${keys.sign(cookie)}` };
  });
  await db.query(
    `insert into sessions (key, wallet, created_at, extended_at, expires_at)
     select k, w, now(), now(), now() + interval '7 days' from unnest($1::bytea[], $2::text[]) as s(k, w)`,
    [made.map((m) => createHash('sha256').update(m.id).digest()), made.map((m) => m.wallet)],
  );
  return made.map(({ wallet, cookie }) => ({ wallet, cookie }));
}

/** Inserts a game that accepts any score, after a play of any duration. No rule holds its scores. */
export async function openGame(system: System, id: string): Promise<void> {
  const definition = {
    name: 'Bench game',
    category: 'bench',
    normalization: { method: 'linear', min: 0, max: 1_000_000, direction: 'higher' },
    pointsPer10000: 100,
    caps: { dailyPoints: 100_000_000, scorePerSec: 1e9, minDurationMs: 0, maxDurationMs: 86_400_000 },
    verification: 'play',
    maxLivePlays: 1_000,
    review: { perfectFrom: null, repeatedScores: null, overlapSec: null, newcomerScores: null, maxHeldPerWallet: 1_000 },
  };
  await withDatabase(system, (db) => db.query('insert into games (id, version, definition) values ($1, 1, $2)', [id, JSON.stringify(definition)]));
}

/**
 * Inserts plays that began a minute ago and have no score yet.
 * @param each the number of plays per wallet
 */
export async function openPlays(
  system: System,
  wallets: readonly BenchWallet[],
  gameId: string,
  each: number,
): Promise<{ playId: string; by: BenchWallet }[]> {
  const plays = Array.from({ length: each }, () => wallets.map((by) => ({ playId: uuidv7(), by }))).flat();
  await withDatabase(system, async (db) => {
    for (let i = 0; i < plays.length; i += 20_000) {
      const chunk = plays.slice(i, i + 20_000);
      await db.query(
        `insert into plays (id, wallet, game_id, started_at) select i, w, $3, now() - interval '1 minute' from unnest($1::uuid[], $2::text[]) as p(i, w)`,
        [chunk.map((p) => p.playId), chunk.map((p) => p.by.wallet), gameId],
      );
    }
    await db.query('vacuum analyze plays, players, sessions');
  });
  return plays;
}

/** Runs `work` with a database connection of the owner of the database, then closes the connection. */
export async function withDatabase<T>(system: System, work: (db: pg.Client) => Promise<T>): Promise<T> {
  const db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
  try {
    return await work(db);
  } finally {
    await db.end();
  }
}
