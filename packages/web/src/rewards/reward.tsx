import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { type Api, client, ok } from '../client.ts';
import { useAction } from '../ui/action.ts';
import { amountText } from '../ui/amount.ts';
import { announce } from '../ui/announce.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { timeOf } from '../ui/time.tsx';
import { CLAIM_STATES } from './claim-line.tsx';
import { dayOf } from './day.ts';

/** The service waits this long for the chain before it answers 202; the outcome then arrives as an event. */
const WAIT = 'wait=5';

const readProof = async (epoch: number, wallet: string): Promise<Api.RewardProof> =>
  (await ok(client.get('/api/rewards/epoch/{epoch}/proof/{wallet}', { params: { epoch: String(epoch), wallet } }))).body;

/** A reward that is not claimed, with its proof and the button that claims it. */
export function Reward(props: { reward: Api.ClaimableReward; wallet: string; claim: Api.Claim | null; changed: () => void }) {
  const { reward, wallet, claim, changed } = props;
  const { epoch, amount, status, expiresAt } = reward;
  const key = useRef(crypto.randomUUID());
  const start = useAction(async () => {
    const { proof } = await readProof(epoch, wallet);
    const headers = { Prefer: WAIT };
    const answer = await ok(client.post('/api/rewards/claim', { body: { epoch, proof }, headers, idempotencyKey: key.current }));
    announce(answer.status === 200 ? 'The claim is on the chain.' : 'The claim is on its way to the chain.');
    changed();
  }, [epoch, wallet]);
  const isOnItsWay = reward.claiming || (claim !== null && claim.status !== 'failed' && claim.status !== 'claimed');
  return (
    <li class="claim">
      <div class="row spread">
        <h3>{dayOf(epoch)}</h3>
        <span class="points">{amountText(amount)}</span>
      </div>
      {status === 'upcoming' && <p class="quiet">The fingerprint of this day is not on the chain yet. You can claim the reward after that.</p>}
      {status === 'settled' && <p class="quiet">The arcade settles this reward off the chain, so it cannot be claimed here.</p>}
      {status === 'claimable' && isOnItsWay && <p role="status">{CLAIM_STATES[claim?.status ?? 'queued'].text}</p>}
      {status === 'claimable' && !isOnItsWay && (
        <p class="row">
          <button
            type="button"
            disabled={start.isBusy.value}
            onClick={async () => {
              const isAccepted = await start.run();
              // Only a claim without an answer is repeated with its key. After an answer the next one is new: an accepted claim may fail on the chain.
              if (start.problem.value?.status !== null) key.current = crypto.randomUUID();
              if (!isAccepted) changed();
            }}
          >
            {start.isBusy.value ? 'Claiming…' : claim?.status === 'failed' ? 'Claim again' : 'Claim'}
            <span class="unseen"> the reward of {dayOf(epoch)}</span>
          </button>
          {expiresAt && <span class="quiet">until {timeOf(expiresAt)}</span>}
        </p>
      )}
      {claim?.status === 'failed' && !isOnItsWay && claim.reason !== null && <p class="quiet">The last claim failed: {claim.reason}.</p>}
      <ProblemNote problem={start.problem.value} />
      {status !== 'settled' && <Proof epoch={epoch} wallet={wallet} />}
    </li>
  );
}

/** The Merkle proof of a reward. It is loaded when the visitor opens it. */
function Proof({ epoch, wallet }: { epoch: number; wallet: string }) {
  const proof = useSignal<Api.RewardProof | null>(null);
  const read = useAction(async () => {
    proof.value ??= await readProof(epoch, wallet);
  }, [epoch, wallet]);
  const shown = proof.value;
  return (
    <details
      onToggle={({ currentTarget }) => {
        if (currentTarget.open) void read.run();
      }}
    >
      <summary>Proof</summary>
      <div class="stack tight">
        <ProblemNote problem={read.problem.value} retry={() => void read.run()} />
        {shown && (
          <>
            <p>
              Your reward is leaf {shown.index} of the list. Hashed together with the{' '}
              {shown.proof.length === 1 ? 'value' : `${shown.proof.length} values`} below, it gives the fingerprint of the list, the Merkle root.{' '}
              <a href={`/check/epoch/${epoch}`}>Check the whole day yourself</a>
            </p>
            <ol class="hashes mono" aria-label="Values of the proof">
              {shown.proof.map((hash) => (
                <li key={hash}>{hash}</li>
              ))}
            </ol>
            <p class="mono">Root: {shown.root}</p>
          </>
        )}
      </div>
    </details>
  );
}
