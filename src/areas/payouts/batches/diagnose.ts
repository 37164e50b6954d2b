import { PublicKey } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { rpc } from '#platform/solana/solana.ts';
import type { ChainError, Outcome } from '#platform/solana/submission/transactions.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { alert } from '../alerts.ts';
import { type Member, memberAt } from './members.ts';
import type { Batch } from './rows.ts';
import { MEMBER_ERROR } from './settlement.ts';

/** How long a batch waits that nothing is wrong with, ms. */
const WAIT_MS = 1_000;
const FUNDS_MS = 5_000;

/** The code of insufficient funds, of the token program and of the system program alike. */
const INSUFFICIENT = 1;

const over = (error: ChainError, name: string, message: string): Outcome => ({ do: 'fail', error: { ...error, name, message } });

/**
 * What the refusal of a batch's simulation means; nothing has been signed. An error names an instruction, not who is at
 * fault: the accounts tell that.
 */
export async function diagnose(app: App, batch: Batch, error: ChainError): Promise<Outcome> {
  const found = memberAt(batch.members, error.instruction);
  // A node that is behind, a nonce that has just moved, or a fee payer without lamports: `compose` looks at the first two.
  if (!found) return wait(app, error);
  if (found.what === 'opening' && error.code === INSUFFICIENT) return wait(app, error);
  return await blameTransfer(app, batch, found.member, error);
}

function wait(app: App, error: ChainError): Outcome {
  const isNonce = error.name === 'BlockhashNotFound' || error.instruction !== null;
  if (!isNonce) alert(app, 'fee payer', error.message);
  return { do: 'wait', ms: isNonce ? WAIT_MS : FUNDS_MS, reason: error.message };
}

async function blameTransfer(app: App, batch: Batch, member: Member, error: ChainError): Promise<Outcome> {
  const mint = new PublicKey(batch.mint);
  const owners = [new PublicKey(batch.treasury), new PublicKey(member.wallet)];
  const addresses = owners.map((owner) => associatedTokenAddress(owner, mint));
  const [source, destination] = (await rpc(() => app.chain.connection.getMultipleAccountsInfo(addresses, 'confirmed'))).map(decodeTokenAccount);
  if (!source || source.frozen) return over(error, 'TreasuryFrozen', 'the treasury cannot pay');
  if (source.amount < batch.members.reduce((sum, { amount }) => sum + amount, 0n))
    return over(error, 'TreasuryShort', 'the treasury holds too little');
  if (destination?.frozen) return over(error, MEMBER_ERROR, 'the token account of the wallet is frozen');
  if (!destination && !member.opens) return over(error, 'AccountGone', 'the token account of the wallet was closed');
  if (destination && !destination.owner.equals(new PublicKey(member.wallet))) {
    return over(error, MEMBER_ERROR, 'the token account of the wallet belongs to somebody else');
  }
  return { do: 'fail', error };
}
