import { PublicKey, SystemProgram } from '@solana/web3.js';
import { HASH_BYTES } from '#lib/merkle.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import {
  claimReward,
  decodeEpoch,
  decodePage,
  type EpochAccount,
  isClaimed,
  pageAddress,
  pageBytes,
  pageOf,
} from '#platform/solana/distributor/index.ts';
import { type Draft, type Outcome, type Spend, TOKEN_ACCOUNTS } from '#platform/solana/submission/transactions.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, decodeTokenAccount, TOKEN_ACCOUNT_BYTES } from '#platform/solana/tokens.ts';
import { type Account, readAccounts, rentOf } from '../chain/accounts.ts';
import { type Place, type PlaceRow, placeOf } from '../chain/epoch-accounts.ts';
import { followEpoch } from '../chain/follow.ts';
import { SETTLED } from '../chain/settlement.ts';
import { isBeingOpened } from './pages.ts';
import { RELAY_MARGIN } from './request.ts';
import type { ClaimState } from './rows.ts';
import { mayOpen } from './token-accounts.ts';

/** How long until what is not final, or not to be seen yet, is looked at again, ms. */
export const SOON_MS = 1_000;
/** Until a page is there that another claim opens. */
const PAGE_MS = 250;

export const EXPIRED = 'the epoch is expired: its rewards cannot be claimed any more';

interface Composed extends PlaceRow {
  id: string;
  index: number;
  wallet: string;
  amount: string;
  state: ClaimState;
  signature: string | null;
  proof: Buffer | null;
  leaves: number;
  settled: boolean;
  late: boolean;
}
const selectToCompose = statement<Composed>(
  'select_claim_to_compose',
  `select c.id::text, c.index, c.wallet, c.amount::text, c.state, c.signature, c.proof, e.leaves,
     e.state = 'settled' or e.settle_requested_at is not null as settled, e.expires_at - ${RELAY_MARGIN} <= app_now() as late,
     a.epoch, a.program, a.authority, a.mint, a.vault, a.address
   from claims c join epochs e on e.epoch = c.epoch join epoch_accounts a on a.epoch = c.epoch where c.id = $1`,
);

const wait = (reason: string, ms = SOON_MS): Outcome => ({ do: 'wait', ms, reason });
const over = (name: string, message: string): Outcome => ({ do: 'fail', error: { name, message, instruction: null, code: null } });

/** What is to be signed for a claim, or what came of it. */
export async function compose(app: App, subject: string): Promise<Draft | Outcome> {
  const claim = (await app.db.query(selectToCompose, [subject]))[0];
  if (!claim) return { do: 'manual', reason: `there is no claim ${subject}` };
  if (claim.state === 'claimed') return { do: 'done', signature: claim.signature, slot: null };
  const place = placeOf(claim);
  const wallet = new PublicKey(claim.wallet);
  const pageKey = pageAddress(place.program, place.account, pageOf(claim.index));
  const destination = associatedTokenAddress(wallet, place.mint);
  const { accounts } = await readAccounts(app, 'confirmed', [place.account, pageKey, destination]);
  const [epochAccount = null, pageAccount = null, tokenAccount = null] = accounts;
  const account = decodeEpoch(place.program, epochAccount);
  if (hasBit(place, pageAccount, claim.index)) return await claimedByNow(app, claim, place, pageKey);
  if (claim.settled) return { do: 'fail', error: SETTLED };
  if (claim.late) return over('Expired', EXPIRED);
  if (!account) return wait('the epoch is not to be seen on the chain');
  if (account.state !== 'open') return await ended(app, place);
  return await draft(app, claim, place, { wallet, account, pageAccount, tokenAccount });
}

function hasBit({ program }: Place, raw: Account, index: number): boolean {
  const page = decodePage(program, raw);
  return page !== null && isClaimed(page, index);
}

/** Somebody's transaction has claimed it: as soon as that is final, whoever follows the epochs finds out whose it was. */
async function claimedByNow(app: App, claim: Composed, place: Place, pageKey: PublicKey): Promise<Outcome> {
  const { accounts } = await readAccounts(app, 'finalized', [pageKey]);
  if (!hasBit(place, accounts[0] ?? null, claim.index)) return wait('it is claimed, and not final yet');
  await followEpoch(app, claim.epoch);
  const now = (await app.db.query(selectToCompose, [claim.id]))[0];
  return now?.state === 'claimed' ? { do: 'done', signature: now.signature, slot: null } : wait('it is claimed, and not known by whom');
}

/** The epoch is settled or closed, as far as is confirmed. */
async function ended(app: App, { program, account }: Place): Promise<Outcome> {
  const { accounts } = await readAccounts(app, 'finalized', [account]);
  return decodeEpoch(program, accounts[0] ?? null)?.state === 'open' ? wait('the end of the epoch is not final') : { do: 'fail', error: SETTLED };
}

interface Seen {
  readonly wallet: PublicKey;
  readonly account: EpochAccount;
  readonly pageAccount: Account;
  readonly tokenAccount: Account;
}

async function draft(app: App, claim: Composed, place: Place, { wallet, account, pageAccount, tokenAccount }: Seen): Promise<Draft | Outcome> {
  const payer = app.chain.key('feePayer').publicKey;
  const mint = place.mint.toBase58();
  const amount = BigInt(claim.amount);
  const spends: Spend[] = [];

  const held = decodeTokenAccount(tokenAccount);
  const opens = held === null && isVacant(tokenAccount);
  if (held && !held.owner.equals(wallet)) return over('BadDestination', 'the token account of the wallet has another owner');
  if (held?.frozen) return over('DestinationFrozen', 'the token account of the wallet is frozen');
  if (opens) {
    const rent = await rentOf(app, TOKEN_ACCOUNT_BYTES);
    const instead = await mayOpen(app, { id: claim.id, wallet: claim.wallet, amount }, mint, rent);
    if (instead) return instead;
    spends.push({ asset: 'sol', amount: rent }, { asset: TOKEN_ACCOUNTS, amount: rent });
  }
  if (isVacant(pageAccount)) {
    const page = pageOf(claim.index);
    if (await isBeingOpened(app.db, claim)) return wait('the page is being opened for another claim', PAGE_MS);
    spends.push({ asset: 'sol', amount: await rentOf(app, pageBytes(account.leaves, page)) });
  }
  const { program, account: epochAccount } = place;
  const proof = nodesOf(claim.proof ?? Buffer.alloc(0));
  return {
    do: 'sign',
    feePayer: 'feePayer',
    instructions: [
      ...(opens ? [createAssociatedTokenAccount(payer, wallet, place.mint)] : []),
      claimReward({ program, payer, epochAccount, mint: place.mint, index: claim.index, wallet, amount, proof }),
    ],
    spends,
  };
}

/** Whether nothing is at an address but what anybody may have sent there. */
const isVacant = (account: Account) => account === null || (account.owner.equals(SystemProgram.programId) && account.data.length === 0);

const nodesOf = (proof: Buffer): Buffer[] =>
  Array.from({ length: proof.length / HASH_BYTES }, (_, i) => proof.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
