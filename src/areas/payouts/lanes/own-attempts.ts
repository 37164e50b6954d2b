import { sql } from 'kysely';
import type { App } from '#platform/app.ts';
import { ChainAttemptsTable } from '#platform/db/entities.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { nonceAfter } from '#platform/solana/system-program.ts';
import type { Lane } from './rows.ts';

const build = queryBuilder([ChainAttemptsTable]);

/** A finalized transaction of this service on a lane. */
export interface LandedAttempt {
  readonly signature: string;
  readonly slot: number;
}

/** The attempts of this service that contain the stored nonce of a lane. */
export interface OwnAttempts {
  /** The attempt that used the nonce; null when no attempt with the nonce is finalized. At most one attempt with a nonce can land. */
  readonly landed: LandedAttempt | null;
  /** Whether an attempt is pending. It may have landed although the database does not have its result yet. */
  readonly pending: boolean;
}

const selectByNonce = ({ address, nonce }: Pick<Lane, 'address' | 'nonce'>) =>
  build
    .selectFrom('chain_attempts')
    .select(({ cast }) => ['signature', 'state', cast<number | null>('slot', 'float8').as('slot')])
    .where('nonce_account', '=', address)
    .where('nonce', '=', nonce)
    .where('state', '<>', 'dead');

const selectOpening = statement<{ signature: string; slot: number }>(
  'select_opening_of_payout_lane',
  `select a.signature, a.slot::float8 as slot from chain_transactions t join chain_attempts a on a.transaction_id = t.id
   where t.kind = 'open-payout-lane' and t.subject = $1 and a.state = 'finalized' and a.slot is not null order by a.n limit 1`,
);

/** Reads the attempts of this service that contain the stored nonce of a lane. For a lane without a stored nonce, reads the opening of its account. */
export async function readOwnAttempts(db: Queryable, lane: Lane): Promise<OwnAttempts> {
  if (lane.nonce === null) return { landed: (await db.query(selectOpening, [`${lane.lane}:${lane.address}`]))[0] ?? null, pending: false };
  const attempts = await run(db, selectByNonce(lane));
  const landed = attempts.flatMap(({ signature, slot, state }) => {
    const isFinal = state === 'finalized' || state === 'failed';
    return isFinal && slot !== null ? [{ signature, slot }] : [];
  });
  return { landed: landed[0] ?? null, pending: attempts.some(({ state }) => state === 'signed' || state === 'sent' || state === 'confirmed') };
}

/** Selects the finalized attempts of this service that used a nonce of an account in a slot after `floor`. */
export const selectLandedAfter = (address: string, floor: number) =>
  build
    .selectFrom('chain_attempts')
    .select(({ cast }) => ['signature', 'nonce', cast<number>('slot', 'float8').as('slot')])
    .where('nonce_account', '=', address)
    .where('nonce', 'is not', null)
    .where('state', 'in', ['finalized', 'failed'])
    .where('slot', '>', String(floor));

/** Selects those of the given signatures that belong to attempts of this service. A dead attempt that landed nevertheless counts as unknown. */
export const selectKnown = (signatures: readonly string[]) =>
  build
    .selectFrom('chain_attempts')
    .select('signature')
    .where('signature', '=', sql<string>`any(${signatures}::text[])`)
    .where('state', '<>', 'dead');

/**
 * Returns the value that a nonce had after the finalized transaction of a slot. A nonce changes at most once per block, so if the account still has
 * this value, no later transaction has used it. Returns null when no RPC node has the block.
 */
export async function readNonceAfter(app: App, slot: number): Promise<string | null> {
  for (const node of [app.chain.node, app.chain.second]) {
    const previous = (await node?.previousBlockhash(slot)) ?? null;
    if (previous !== null) return nonceAfter(previous);
  }
  return null;
}
