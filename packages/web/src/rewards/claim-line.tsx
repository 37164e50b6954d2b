import type { Api } from '../client.ts';
import { amountText } from '../ui/amount.ts';
import { Signature } from '../ui/signature.tsx';
import { Ago } from '../ui/time.tsx';
import { dayOf } from './day.ts';

/** The states of a claim, for people. */
export const CLAIM_STATES: Readonly<Record<Api.Claim['status'], { tag: string; text: string; look: 'good' | 'bad' | 'warm' }>> = {
  queued: { tag: 'waiting', text: 'The claim waits for its turn.', look: 'warm' },
  submitted: { tag: 'sent', text: 'The claim is sent to the chain. This takes some seconds.', look: 'warm' },
  confirmed: { tag: 'confirmed', text: 'The chain has confirmed the claim. It is final in some seconds.', look: 'warm' },
  claimed: { tag: 'final', text: 'The reward is in your wallet. This is final.', look: 'good' },
  failed: { tag: 'failed', text: 'The claim failed. You can claim again.', look: 'bad' },
};

/** The content of a line of a list of claims. */
export function ClaimLine({ claim: { epoch, amount, status, reason, signature, changedAt } }: { claim: Api.Claim }) {
  const { tag, look, text } = CLAIM_STATES[status];
  return (
    <>
      <span>
        {amountText(amount)} of {dayOf(epoch)} <span class={`tag ${look}`}>{tag}</span>
        {status !== 'claimed' && <span class="quiet"> {text}</span>}
        {reason !== null && <span class="quiet"> {reason}</span>} <Signature signature={signature} />
      </span>
      <Ago at={changedAt} />
    </>
  );
}
