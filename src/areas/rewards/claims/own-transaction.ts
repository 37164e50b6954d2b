import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { checkDistributor, claimReward, decodeEpoch, pageAddress, pageBytes, pageOf } from '#platform/solana/distributor/index.ts';
import { type Instruction, parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, decodeTokenAccount, TOKEN_ACCOUNT_BYTES } from '#platform/solana/tokens.ts';
import { readAccounts, rentOf } from '../chain/accounts.ts';
import { addressesOf, selectEpochAddresses } from '../chain/epoch-accounts.ts';
import { readProof } from '../epochs/proofs.ts';
import { build } from '../query-builder.ts';
import { isBitSet, isVacant } from './compose.ts';
import { closedReason, RELAY_MARGIN, refuseClaimed, refuseClosed } from './request.ts';

interface EpochRow {
  readonly state: string;
  readonly settling: boolean;
  readonly relayEnded: boolean;
  readonly expiresAt: string | null;
}
const selectEpoch = statement<EpochRow>(
  'select_epoch_to_claim',
  `select state, settle_requested_at is not null as settling, to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD') as "expiresAt",
     expires_at is not null and expires_at - ${RELAY_MARGIN} <= (select app_now()) as "relayEnded" from epochs where epoch = $1`,
);

async function requireEpoch(app: App, epoch: number): Promise<EpochRow> {
  const row = (await app.db.query(selectEpoch, [epoch]))[0];
  if (!row) throw fail(404, `epoch ${epoch} does not exist`);
  return row;
}

/**
 * Reads whether the rewards of an epoch can be claimed: the last UTC day (YYYY-MM-DD; null when it is not known yet), and the reason why no reward can be
 * claimed now, one sentence, or null.
 * @throws 404 when the epoch does not exist
 */
export async function readClaimOffer(app: App, epoch: number): Promise<{ readonly expiresAt: string | null; readonly refusal: string | null }> {
  const row = await requireEpoch(app, epoch);
  return { expiresAt: row.expiresAt, refusal: closedReason(epoch, row) };
}

/** The claim of a wallet that pays the fee itself. */
export interface OwnClaim {
  readonly instructions: readonly Instruction[];
  /** Amount of the reward, base units. */
  readonly amount: bigint;
  /** Rent that the wallet pays for the accounts that its claim opens, lamports. */
  readonly rent: bigint;
}

/**
 * Builds the instructions with which a wallet claims its reward of an epoch in its own transaction: the claim, and before it the opening of the wallet's
 * token account if the wallet has none. The wallet pays the fee and the rents. The follower of epochs finds the claim on the chain.
 * @throws 404 when the epoch does not exist or has no reward of this wallet; 409 when the reward is claimed already or a claim is in flight, the epoch is
 * not committed, settled or expired, the program on the chain is not the distributor, or the wallet's token account cannot receive the reward; 503 when
 * the RPC node does not answer
 */
export async function buildOwnClaim(app: App, epoch: number, owner: string): Promise<OwnClaim> {
  refuseClosed(epoch, await requireEpoch(app, epoch));
  const { proof } = await readProof(app, epoch, owner);
  const { index } = proof;
  const own = build.selectFrom('claims').select(['state', 'signature']).where('epoch', '=', epoch).where('index', '=', index);
  const [[stored], [row]] = await Promise.all([run(app.db, own), run(app.db, selectEpochAddresses(epoch))]);
  if (stored?.state === 'claimed' || stored?.state === 'confirmed') return refuseClaimed({ epoch, signature: stored.signature });
  if (stored?.state === 'submitted') throw fail(409, `the reward of epoch ${epoch} is being claimed; try again in a minute`);
  if (!row) throw fail(409, `epoch ${epoch} is not committed to the chain yet`);

  const [addresses, wallet, amount] = [addressesOf(row), parseAddress(owner), BigInt(proof.amount)];
  const { program, mint, account: epochAccount } = addresses;
  const destination = associatedTokenAddress(wallet, mint);
  const keys = [epochAccount, pageAddress(program, epochAccount, pageOf(index)), destination];
  const { accounts } = await readAccounts(app, 'confirmed', keys, 'claims');
  const [epochRaw = null, page = null, tokens = null] = accounts;
  const account = decodeEpoch(program, epochRaw);
  if (isBitSet(addresses, page, index)) return refuseClaimed({ epoch, signature: null });
  if (account?.state !== 'open') throw fail(409, `epoch ${epoch} is not open on the chain`);
  // Another program could take the SOL of the wallet, which signs the claim. A final program cannot have changed since the epoch was opened.
  const { isOurs, isFinal } = await checkDistributor(app, program);
  if (!isOurs && !isFinal) throw fail(409, `the program of epoch ${epoch} on the chain is not the distributor of this service`);
  const held = decodeTokenAccount(tokens);
  const opens = held === null && isVacant(tokens);
  if (!opens && !held?.owner.equals(wallet)) throw fail(409, `the wallet does not own its token account ${destination.toBase58()}`);
  if (held?.frozen) throw fail(409, `the wallet’s token account ${destination.toBase58()} is frozen`);

  const rents = [...(opens ? [TOKEN_ACCOUNT_BYTES] : []), ...(isVacant(page) ? [pageBytes(account.leaves, pageOf(index))] : [])];
  const claim = { program, payer: wallet, epochAccount, mint, index, wallet, amount, proof: proof.proof.map((node) => Buffer.from(node, 'hex')) };
  return {
    instructions: [...(opens ? [createAssociatedTokenAccount(wallet, wallet, mint)] : []), claimReward(claim)],
    amount,
    rent: (await Promise.all(rents.map((bytes) => rentOf(app, bytes)))).reduce((sum, rent) => sum + rent, 0n),
  };
}
