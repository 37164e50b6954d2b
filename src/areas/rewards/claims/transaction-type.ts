import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import { distributorError } from '#platform/solana/distributor/index.ts';
import {
  type ChainError,
  type Draft,
  type Failure,
  type Outcome,
  TOKEN_ACCOUNTS,
  type TransactionType,
} from '#platform/solana/submission/transactions.ts';
import { claimSubmitted } from '../events.ts';
import { compose, EXPIRED, SOON_MS } from './compose.ts';
import { recordPageOpening } from './pages.ts';
import { CLAIM } from './rows.ts';
import { confirmClaims, failClaims, finishClaims, retractClaims } from './settlement.ts';
import { forgetOpening, OPEN_FIRST, recordOpening } from './token-accounts.ts';

interface Submitted {
  epoch: number;
  index: number;
  wallet: string;
  amount: string;
  mint: string;
  first: boolean;
}
const submitClaim = statement<Submitted>(
  'submit_claim',
  `with before as (select id, state from claims where id = $1 and state in ('queued', 'submitted') for update)
   update claims c set state = 'submitted', signature = $2, changed_at = app_now() from before b, epoch_accounts a
   where c.id = b.id and a.epoch = c.epoch returning c.epoch, c.index, c.wallet, c.amount::text, a.mint, b.state = 'queued' as first`,
);

/** What a wallet is told of a refusal that is about its own token account, or the epoch. */
const SENTENCES: Readonly<Record<string, string>> = {
  NoDestination: OPEN_FIRST,
  BadDestination: 'the token account of the wallet has another owner',
  DestinationFrozen: 'the token account of the wallet is frozen',
  Expired: EXPIRED,
};

const spentOn = ({ spends = [] }: Draft, wanted: string) => spends.reduce((sum, { asset, amount }) => (asset === wanted ? sum + amount : sum), 0n);

const programError = ({ instruction, code }: ChainError) => (instruction === null || code === null ? null : distributorError(code));

function reasonOf({ error }: Failure): string {
  const known = programError(error);
  return (known && SENTENCES[known.name]) ?? known?.message ?? error.message;
}

/**
 * Relays a wallet's claim: at our cost, and only to the wallet that is named in the leaf. The bitmap keeps it from happening twice,
 * so whoever claims first, and however often this is tried, the leaf is paid once.
 */
export const claim: TransactionType = {
  ...CLAIM,
  scope: 'claims',
  afterFailure: 'again',
  compose,
  async refused(_app, _subject, error): Promise<Outcome | undefined> {
    const known = programError(error);
    if (!known) return undefined;
    const sentence = SENTENCES[known.name];
    if (sentence !== undefined) return { do: 'fail', error: { ...error, name: known.name, message: sentence } };
    // Composing anew sees whether it is final.
    if (known.name === 'AlreadyClaimed' || known.name === 'NotOpen') return { do: 'wait', ms: SOON_MS, reason: known.message };
    return undefined;
  },
  async signed(tx, { subject, signature, draft }) {
    const row = (await tx.query(submitClaim, [subject, signature]))[0];
    if (!row) throw fail(409, 'the claim is not to be signed any more');
    const { epoch, index, wallet, amount, mint, first } = row;
    const tokenAccount = spentOn(draft, TOKEN_ACCOUNTS);
    // What is spent besides a token account is a page's rent.
    if (spentOn(draft, 'sol') > tokenAccount) await recordPageOpening(tx, { id: subject, epoch, index });
    if (tokenAccount > 0n) await recordOpening(tx, subject, mint);
    else await forgetOpening(tx, subject);
    if (first) tx.emit(claimSubmitted, { claimId: subject, epoch, wallet, amount }, wallet);
  },
  confirmed: confirmClaims,
  retracted: retractClaims,
  finalized: finishClaims,
  failed: (tx, failures) => failClaims(tx, failures, reasonOf),
};
