import { randomUUID } from 'node:crypto';
import type { App } from '#platform/app.ts';
import { type Account, newSigner, parseAddress } from '#platform/solana/primitives.ts';
import { NONCE_BYTES, SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import { sql } from './boards.ts';

/** Returns a random address as base58. A nonce has the same form. */
export const randomAddress = (): string => newSigner().publicKey.toBase58();

/** A stored payout lane. */
export interface StoredLane {
  readonly lane: number;
  readonly address: string;
  /** The wallet that may use the nonce. */
  readonly authority: string;
  readonly nonce: string;
}

let lanes = 0;

/** Inserts a payout lane with a nonce account that exists on no chain. The nonce was read at slot `nonceSlot`. */
export async function storeLane(app: App, { stale = false, nonceSlot = 0 } = {}): Promise<StoredLane> {
  const lane = { lane: lanes++, address: randomAddress(), authority: randomAddress(), nonce: randomAddress() };
  await sql(app, 'insert into payout_lanes (lane, address, authority, nonce, stale, nonce_slot) values ($1, $2, $3, $4, $5, $6)', [
    lane.lane,
    lane.address,
    lane.authority,
    lane.nonce,
    stale,
    nonceSlot,
  ]);
  return lane;
}

/** The keys that pay a batch, and the mint of its token. */
interface BatchKeys {
  readonly feePayer: string;
  readonly treasury: string;
  readonly mint: string;
}
const randomKeys = (): BatchKeys => ({ feePayer: randomAddress(), treasury: randomAddress(), mint: randomAddress() });

/** A stored batch that uses its lane. */
export interface StoredBatch extends Omit<StoredLane, 'authority'> {
  readonly id: string;
}

/**
 * Puts pending payments into a new batch on a lane.
 * @param payments ids in batch order
 * @param lane by default a new lane
 */
export async function storeBatch(
  app: App,
  payments: readonly string[],
  lane?: Omit<StoredLane, 'authority'>,
  { feePayer, treasury, mint } = randomKeys(),
): Promise<StoredBatch> {
  const id = randomUUID();
  const used = lane ?? (await storeLane(app));
  await app.tx(async (tx) => {
    await tx.query(
      {
        text: `insert into payout_batches (id, lane, address, nonce, fee_payer, treasury, mint, decimals, rent, urgency, members_hash)
          values ($1, $2, $3, $4, $5, $6, $7, 6, 100, 0, $8)`,
      },
      [id, used.lane, used.address, used.nonce, feePayer, treasury, mint, '0'.repeat(64)],
    );
    await tx.query(
      {
        text: `insert into payout_batch_members (batch, position, payment, opens)
          select $1, m.n - 1, m.payment, false from unnest($2::uuid[]) with ordinality as m(payment, n)`,
      },
      [id, payments],
    );
    await tx.query({ text: `update payments set state = 'batched' where id = any($1::uuid[])` }, [payments]);
    await tx.query({ text: 'update payout_lanes set batch = $2, stale = false where lane = $1' }, [used.lane, id]);
  });
  return { ...used, id };
}

/** Builds a nonce account with a nonce, as an RPC node returns it. */
export function nonceAccount(nonce: string): Account {
  const data = Buffer.alloc(NONCE_BYTES);
  data.writeUInt32LE(1, 4);
  data.set(parseAddress(nonce).toBytes(), 40);
  return { owner: SYSTEM_PROGRAM, data, lamports: 1 };
}
