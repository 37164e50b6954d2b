import { gather } from '#lib/concurrency/gather.ts';
import { HASH_BYTES } from '#lib/merkle.ts';
import { type App, perApp } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import {
  checkDistributor,
  claimReward,
  decodeEpoch,
  decodePage,
  type EpochAccount,
  isClaimed,
  pageAddress,
  pageBytes,
  pageOf,
} from '#platform/solana/distributor/index.ts';
import { type Address, type FetchedAccount, parseAddress } from '#platform/solana/primitives.ts';
import {
  askSecond,
  type ChainError,
  type ComposeOutcome,
  type Spend,
  TOKEN_ACCOUNTS,
  type TransactionDraft,
} from '#platform/solana/submission/index.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, decodeTokenAccount, TOKEN_ACCOUNT_BYTES } from '#platform/solana/tokens.ts';
import { readAccounts, rentOf } from '../chain/accounts.ts';
import { addressesOf, type EpochAddresses, type EpochAddressesRow } from '../chain/epoch-accounts.ts';
import { followEpoch } from '../chain/follow.ts';
import { SETTLED_ERROR } from '../chain/settlement.ts';
import { reservePage } from './pages.ts';
import { RELAY_MARGIN } from './request.ts';
import { CLAIM, type ClaimState } from './rows.ts';
import { checkOpening } from './token-accounts.ts';

/** Delay before a retry when the RPC node does not have the needed chain state yet, ms. */
export const RETRY_MS = 1_000;
/** Delay before a retry while another claim creates the bitmap page, ms. */
const PAGE_RETRY_MS = 250;

export const EXPIRED = 'the epoch is expired; its rewards cannot be claimed any more';

interface ClaimToCompose extends EpochAddressesRow {
  id: string;
  index: number;
  wallet: string;
  amount: string;
  state: ClaimState;
  signature: string | null;
  proof: Buffer | null;
  leaves: number;
  settled: boolean;
  relayEnded: boolean;
}
const selectToCompose = statement<ClaimToCompose>(
  'select_claims_to_compose',
  `select c.id::text, c.index, c.wallet, c.amount::text, c.state, c.signature, c.proof, e.leaves,
     e.state = 'settled' or e.settle_requested_at is not null as settled, e.expires_at - ${RELAY_MARGIN} <= (select app_now()) as "relayEnded",
     a.epoch, a.program, a.authority, a.mint, a.vault, a.address
   from claims c join epochs e on e.epoch = c.epoch join epoch_accounts a on a.epoch = c.epoch where c.id = any($1::uuid[])`,
);

/** Reads claims that are composed at the same time with one statement. */
const claimReads = perApp((app) =>
  gather(async (ids: readonly string[]) => new Map((await app.db.query(selectToCompose, [ids])).map((claim) => [claim.id, claim]))),
);
const readClaim = async (app: App, id: string): Promise<ClaimToCompose | undefined> => (await app.state(claimReads)('', id)).get(id);

/** Delay before a retry while the program on the chain is not the distributor, ms. */
const PROGRAM_RETRY_MS = 30_000;

const wait = (reason: string, ms = RETRY_MS): ComposeOutcome => ({ do: 'wait', ms, reason });
const errorOf = (name: string, message: string): ChainError => ({ name, message, instruction: null, code: null });

/**
 * Builds the transaction of a claim. If there is no transaction to sign, returns the next step of the claim instead: the claim waits, fails, is
 * finished or is left to an operator.
 */
export async function compose(app: App, subject: string): Promise<TransactionDraft | ComposeOutcome> {
  const claim = await readClaim(app, subject);
  if (!claim) return { do: 'manual', reason: `claim ${subject} does not exist` };
  if (claim.state === 'claimed') return { do: 'done', signature: claim.signature, slot: null };
  const addresses = addressesOf(claim);
  const wallet = parseAddress(claim.wallet);
  const pageKey = pageAddress(addresses.program, addresses.account, pageOf(claim.index));
  const destination = associatedTokenAddress(wallet, addresses.mint);
  const { accounts } = await readAccounts(app, 'confirmed', [addresses.account, pageKey, destination], CLAIM.priority);
  const [epochAccount = null, pageAccount = null, tokenAccount = null] = accounts;
  const account = decodeEpoch(addresses.program, epochAccount);
  if (isBitSet(addresses, pageAccount, claim.index)) return await alreadyClaimed(app, claim, addresses, pageKey);
  if (claim.settled) return { do: 'fail', error: SETTLED_ERROR };
  if (claim.relayEnded) return { do: 'fail', error: errorOf('Expired', EXPIRED) };
  if (!account) return wait('the RPC node does not have the account of the epoch yet');
  if (account.state !== 'open') return await epochEnded(app, addresses);
  // Another program could take the SOL of the fee payer, which signs the claim. A final program cannot have changed since
  // the epoch was opened. An unexpected upgrade authority stops no claim, but the check logs it.
  const { isOurs, isFinal, problem } = await checkDistributor(app, addresses.program);
  if (!isOurs && !isFinal) return wait(problem ?? 'the program on the chain is not the distributor', PROGRAM_RETRY_MS);
  return await draft(app, claim, addresses, { wallet, account, pageAccount, destination, tokenAccount });
}

/** Returns whether the account of a bitmap page shows that a leaf is claimed. */
export function isBitSet({ program }: Pick<EpochAddresses, 'program'>, raw: FetchedAccount, index: number): boolean {
  const page = decodePage(program, raw);
  return page !== null && isClaimed(page, index);
}

/**
 * Handles a claim whose leaf is already claimed on the chain. When the transaction that claimed the leaf is finalized, `followEpoch` finds and stores
 * the signature of this transaction.
 */
async function alreadyClaimed(app: App, claim: ClaimToCompose, addresses: EpochAddresses, pageKey: Address): Promise<ComposeOutcome> {
  const { accounts } = await readAccounts(app, 'finalized', [pageKey], CLAIM.priority);
  if (!isBitSet(addresses, accounts[0] ?? null, claim.index)) return wait('the leaf is claimed but not finalized yet');
  await followEpoch(app, claim.epoch);
  const now = await readClaim(app, claim.id);
  return now?.state === 'claimed'
    ? { do: 'done', signature: now.signature, slot: null }
    : wait('the leaf is claimed, but its transaction is not known yet');
}

/**
 * Handles a claim when the epoch account is settled or closed at the commitment `confirmed`. Fails the claim if the account is also settled or closed
 * at `finalized`; otherwise the claim waits.
 */
async function epochEnded(app: App, { program, account }: EpochAddresses): Promise<ComposeOutcome> {
  const { accounts } = await readAccounts(app, 'finalized', [account], CLAIM.priority);
  return decodeEpoch(program, accounts[0] ?? null)?.state === 'open'
    ? wait('the end of the epoch is not finalized yet')
    : { do: 'fail', error: SETTLED_ERROR };
}

interface ClaimAccounts {
  readonly wallet: Address;
  readonly account: EpochAccount;
  readonly pageAccount: FetchedAccount;
  /** Address of the wallet's token account. */
  readonly destination: Address;
  readonly tokenAccount: FetchedAccount;
}

async function draft(
  app: App,
  claim: ClaimToCompose,
  addresses: EpochAddresses,
  { wallet, account, pageAccount, destination, tokenAccount }: ClaimAccounts,
): Promise<TransactionDraft | ComposeOutcome> {
  const payer = app.chain.key('feePayer').publicKey;
  const mint = addresses.mint.toBase58();
  const amount = BigInt(claim.amount);
  const spends: Spend[] = [];

  const opens = decodeTokenAccount(tokenAccount) === null && isVacant(tokenAccount);
  const problem = destinationProblem(tokenAccount, wallet);
  if (problem) return await failIfFinal(app, destination, (shown) => destinationProblem(shown, wallet)?.name === problem.name, problem);
  if (opens) {
    const rent = await rentOf(app, TOKEN_ACCOUNT_BYTES);
    const instead = await checkOpening(app, { id: claim.id, wallet: claim.wallet, amount }, mint, rent);
    if (instead?.do === 'fail') return await failIfFinal(app, destination, isVacant, instead.error);
    if (instead) return instead;
    spends.push({ asset: 'sol', amount: rent }, { asset: TOKEN_ACCOUNTS, amount: rent });
  }
  if (isVacant(pageAccount)) {
    const page = pageOf(claim.index);
    if (!(await reservePage(app, claim))) return wait('another claim is creating the bitmap page', PAGE_RETRY_MS);
    spends.push({ asset: 'sol', amount: await rentOf(app, pageBytes(account.leaves, page)) });
  }
  const { program, account: epochAccount } = addresses;
  const proof = nodesOf(claim.proof ?? Buffer.alloc(0));
  return {
    do: 'sign',
    feePayer: 'feePayer',
    instructions: [
      ...(opens ? [createAssociatedTokenAccount(payer, wallet, addresses.mint)] : []),
      claimReward({ program, payer, epochAccount, mint: addresses.mint, index: claim.index, wallet, amount, proof }),
    ],
    spends,
  };
}

/** Returns the error of a token account that cannot receive a claim; null for an account that can, and for a missing one. */
function destinationProblem(tokenAccount: FetchedAccount, wallet: Address): ChainError | null {
  const held = decodeTokenAccount(tokenAccount);
  if (held && !held.owner.equals(wallet)) return errorOf('BadDestination', 'the token account of the wallet has another owner');
  return held?.frozen ? errorOf('DestinationFrozen', 'the token account of the wallet is frozen') : null;
}

/**
 * Fails a claim because of its token account if both RPC nodes show the state of the account as finalized. Otherwise the claim waits, because a node that
 * lags or is on a fork shows an old state.
 * @param isShown returns whether the account that a node shows causes the error
 */
async function failIfFinal(
  app: App,
  destination: Address,
  isShown: (account: FetchedAccount) => boolean,
  error: ChainError,
): Promise<ComposeOutcome> {
  const { accounts } = await readAccounts(app, 'finalized', [destination], CLAIM.priority);
  if (!isShown(accounts[0] ?? null)) return wait('the state of the token account is not finalized yet');
  if (app.chain.second === null) return { do: 'fail', error };
  const second = await askSecond(app, (node) => node.accounts([destination], 'finalized'));
  const agrees = second !== null && isShown(second.accounts[0] ?? null);
  return agrees ? { do: 'fail', error } : wait('the second RPC node does not show the same token account');
}

/**
 * Returns whether an address has no account, or only an account without data. Any wallet can create an account without data by sending lamports to
 * the address.
 */
export const isVacant = (account: FetchedAccount) => account === null || (account.owner.equals(SYSTEM_PROGRAM) && account.data.length === 0);

const nodesOf = (proof: Buffer): Buffer[] =>
  Array.from({ length: proof.length / HASH_BYTES }, (_, i) => proof.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
