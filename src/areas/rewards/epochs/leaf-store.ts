import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { BuiltPage, BuiltTree } from '../build/builder.ts';
import { build } from '../query-builder.ts';
import type { EpochSource } from './epochs.ts';
import type { WalletPage } from './snapshot.ts';
import { CHUNK_BYTES, CHUNK_LEVELS } from './tree-chunks.ts';

/** Maximum subtrees that one statement inserts. */
const CHUNKS_PER_STATEMENT = 512;
const BYTES_PER_STATEMENT = CHUNKS_PER_STATEMENT * CHUNK_BYTES;

const insertComputed = statement(
  'insert_computed_leaves',
  `insert into reward_leaves (epoch, allocation, index, wallet, points, amount)
   select $1, $2::smallint, l.* from unnest($3::int[], $4::text[], $6::int8[], $5::numeric[]) as l(index, wallet, points, amount)`,
);
const insertImported = statement(
  'insert_imported_leaves',
  `insert into reward_leaves (epoch, index, wallet, amount) select $1, l.* from unnest($2::int[], $3::text[], $4::numeric[]) as l(index, wallet, amount)`,
);

/** An allocation of an epoch. Each allocation has its own leaves and its own tree. */
export interface AllocationKey {
  readonly epoch: number;
  /** Number of the allocation, from 1. */
  readonly allocation: number;
}

/** Inserts the leaves of an allocation with one statement per page. At most two statements are in flight at a time. */
export async function storeLeaves(
  tx: Tx,
  { epoch, allocation }: AllocationKey,
  source: EpochSource,
  pages: readonly WalletPage[],
  built: readonly BuiltPage[],
  stored: (share: number) => void,
): Promise<void> {
  let before: Promise<unknown> = Promise.resolve();
  for (const [i, { indexes, amounts }] of built.entries()) {
    const { wallets = '', values = '' } = pages[i] ?? {};
    const given = [indexes, `{${wallets}}`, amounts];
    const now =
      source === 'computed' ? tx.query(insertComputed, [epoch, allocation, ...given, `{${values}}`]) : tx.query(insertImported, [epoch, ...given]);
    now.catch(() => undefined);
    await before;
    before = now;
    stored((i + 1) / built.length);
  }
  await before;
}

const insertChunks = statement(
  'insert_tree_chunks',
  `insert into reward_trees (epoch, allocation, level, chunk, hashes)
   select $1, $4::smallint, 0, $2::int + i, substring($3::bytea from i * ${CHUNK_BYTES} + 1 for ${CHUNK_BYTES})
   from generate_series(0, (octet_length($3::bytea) - 1) / ${CHUNK_BYTES}) i`,
);

const bytes = (array: Uint8Array) => Buffer.from(array.buffer, array.byteOffset, array.length);

/** Inserts a Merkle tree: one row per subtree with its leaf hashes, and one row with the roots of all subtrees. */
export async function storeTree(tx: Tx, { epoch, allocation }: AllocationKey, { leaves, roots }: BuiltTree): Promise<void> {
  for (let at = 0; at < leaves.length; at += BYTES_PER_STATEMENT) {
    await tx.query(insertChunks, [epoch, at / CHUNK_BYTES, bytes(leaves.subarray(at, at + BYTES_PER_STATEMENT)), allocation]);
  }
  await run(tx, build.insertInto('reward_trees').values({ epoch, allocation, level: CHUNK_LEVELS, chunk: 0, hashes: bytes(roots) }));
}
