import bs58 from 'bs58';
import type pg from 'pg';
import { CHUNK_BYTES, CHUNK_LEVELS, subtreeRoots } from '#areas/rewards/epochs/tree-chunks.ts';
import { buildTree, HASH_BYTES, hashLeaves, rootOf } from '#lib/merkle.ts';

const ROWS_PER_INSERT = 20_000;

/** A finished reward epoch to insert. `epoch` is in UTC days since 1970; amounts are in base units. */
export interface PastEpoch {
  readonly epoch: number;
  readonly source: 'computed' | 'import';
  /** SQL query for the leaves of the epoch, with the columns `wallet`, `points` and `amount`. */
  readonly leaves: string;
  /** Number of claimed leaves. These are the leaves with the lowest indexes. */
  readonly claims: number;
}

/** Inserts a finished epoch with its leaves, its Merkle tree and its row in `epoch_accounts`. */
export async function storePastEpoch(db: pg.Client, { epoch, source, leaves, claims }: PastEpoch): Promise<void> {
  await db.query(
    `insert into reward_leaves (epoch, index, wallet, points, amount)
     select ${epoch}, row_number() over (order by wallet) - 1, wallet, points, amount from (${leaves}) l`,
  );
  const { rows } = await db.query<{ leaves: number; points: string | null; total: string }>(
    'select count(*)::int as leaves, sum(points)::text as points, sum(amount)::text as total from reward_leaves where epoch = $1',
    [epoch],
  );
  const { leaves: count = 0, points = null, total = '0' } = rows[0] ?? {};
  const hashes = await hashesOf(db, epoch, count);
  const levels = buildTree(hashes);
  const chunks = Array.from({ length: Math.ceil(hashes.length / CHUNK_BYTES) }, (_, i) =>
    Buffer.from(hashes.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES)),
  );
  await db.query('insert into reward_trees (epoch, level, chunk, hashes) select $1, 0, n - 1, h from unnest($2::bytea[]) with ordinality u(h, n)', [
    epoch,
    chunks,
  ]);
  await db.query('insert into reward_trees (epoch, level, chunk, hashes) values ($1, $2, 0, $3)', [
    epoch,
    CHUNK_LEVELS,
    Buffer.from(subtreeRoots(levels)),
  ]);
  await db.query(
    `insert into epochs (epoch, state, source, pool, dust, expiry_days, rules_version, formula, wallets, points, leaves, total, undistributed, root,
       computed_at, committed_at, commit_signature, expires_at, settle_requested_at, settled_at)
     select $1, 'settled', $2, $5, 0, 30, 0, 1, $3, $4, $3, $5, 0, $6, at, at, 'committed', at + interval '30 days', at, at
     from (select to_timestamp(($1::int + 1) * 86400.0) as at) t`,
    [epoch, source, count, points, total, Buffer.from(rootOf(levels))],
  );
  await db.query(
    `insert into epoch_accounts (epoch, address, program, authority, mint, vault, expires_at, opened_at, ended_at, closed_at, claimed, claims)
     select $1::int, 'account', 'program', 'authority', 'mint', 'vault', at, at, at, at, coalesce(sum(amount), 0), count(l)
     from (select to_timestamp(($1::int + 1) * 86400.0) as at) t left join reward_leaves l on l.epoch = $1 and l.index < $2 group by at`,
    [epoch, claims],
  );
}

async function hashesOf(db: pg.Client, epoch: number, count: number): Promise<Uint8Array> {
  const hashes = new Uint8Array(count * HASH_BYTES);
  for (let from = 0; from < count; from += ROWS_PER_INSERT) {
    const { rows } = await db.query<{ wallet: string; amount: string }>(
      'select wallet, amount::text from reward_leaves where epoch = $1 and index >= $2 and index < $3 order by index',
      [epoch, from, from + ROWS_PER_INSERT],
    );
    const wallets = Buffer.concat(rows.map(({ wallet }) => bs58.decode(wallet)));
    hashLeaves(
      epoch,
      from,
      wallets,
      BigUint64Array.from(rows, ({ amount }) => BigInt(amount)),
      hashes.subarray(from * HASH_BYTES, (from + rows.length) * HASH_BYTES),
    );
  }
  return hashes;
}
