import { useComputed } from '@preact/signals';
import { type Api, client, ok } from '../client.ts';
import { now } from '../live/clock.ts';
import { useLoaded } from '../live/load.ts';
import { useEvents } from '../live/use-events.ts';
import { session } from '../session/session.ts';
import { sessionKey } from '../session/session-key.ts';
import { SignInHint, Standing } from '../session/standing.tsx';
import { amountText, numberText } from '../ui/amount.ts';
import { Panel } from '../ui/panel.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { Ago, Countdown } from '../ui/time.tsx';
import { ClaimLine } from './claim-line.tsx';
import { Reward } from './reward.tsx';

const LINES = 50;

/** The visitor’s rewards: today’s projection, what can be claimed, and the claims. */
export default function RewardsPage() {
  return (
    <>
      <h1>Rewards</h1>
      <p>
        Each day the points of the day share a pool of tokens. After midnight UTC the service computes each wallet’s part and puts a fingerprint of
        the list on the chain. Then you claim your part with a proof. You need no SOL.
      </p>
      <Standing />
      <div class="halves">
        <Pool />
        {session.value && <Projected key={sessionKey.value} wallet={session.value.wallet} />}
      </div>
      {session.value === null && <SignInHint>Sign in to see your rewards.</SignInHint>}
      {session.value && <Own key={sessionKey.value} wallet={session.value.wallet} />}
    </>
  );
}

/** Returns the UTC day, which changes two seconds after midnight, so that the service is in the new day too. */
const useDay = (): number => useComputed(() => Math.floor((now.value - 2_000) / 86_400_000)).value;

function Pool() {
  const pool = useLoaded(async () => (await ok(client.get('/api/rewards/pool/today'))).body, [useDay()]);
  const today = pool.value.value;
  return (
    <Panel title="Today’s pool">
      <ProblemNote problem={pool.problem.value} retry={pool.reload} />
      {today && (
        <>
          <p class="big">{amountText(today.pool)}</p>
          <p>
            {today.participants === 1 ? '1 wallet has' : `${numberText(today.participants)} wallets have`} {numberText(today.points)} points. The day
            ends in <Countdown until={today.endsAt} />.
          </p>
        </>
      )}
    </Panel>
  );
}

function Own({ wallet }: { wallet: string }) {
  const params = { wallet };
  const rewards = useLoaded(
    async () => (await ok(client.get('/api/rewards/wallet/{wallet}/claimable', { params, query: { limit: LINES } }))).body,
    [],
  );
  const claims = useLoaded(async () => (await ok(client.get('/me/claims', { query: { limit: LINES } }))).body, []);
  const reload = () => {
    rewards.reload();
    claims.reload();
  };
  useEvents(
    ['claim_submitted', 'claim_confirmed', 'claim_failed'],
    (event) => {
      if (event.wallet === wallet) reload();
    },
    [rewards, claims],
  );
  useEvents(['epoch_computed', 'epoch_committed', 'epoch_settled'], reload, [rewards, claims]);
  return (
    <>
      <Panel title="Your rewards">
        <ProblemNote problem={rewards.problem.value} retry={rewards.reload} />
        {rewards.value.value?.length === 0 && (
          <p class="empty">There is nothing to claim. Play today; your reward appears here after midnight UTC.</p>
        )}
        <ul>
          {rewards.value.value?.map((reward) => (
            <Reward key={reward.epoch} reward={reward} wallet={wallet} claim={newest(claims.value.value, reward.epoch)} changed={reload} />
          ))}
        </ul>
      </Panel>
      <Panel title="Your claims">
        <ProblemNote problem={claims.problem.value} retry={claims.reload} />
        {claims.value.value?.length === 0 && <p class="empty">You have claimed no reward yet.</p>}
        <ul class="lines">
          {claims.value.value?.map((claim) => (
            <li key={claim.claimId}>
              <ClaimLine claim={claim} />
            </li>
          ))}
        </ul>
      </Panel>
    </>
  );
}

const newest = (claims: readonly Api.Claim[] | undefined, epoch: number): Api.Claim | null => claims?.find((claim) => claim.epoch === epoch) ?? null;

function Projected({ wallet }: { wallet: string }) {
  const loaded = useLoaded(async () => (await ok(client.get('/api/rewards/wallet/{wallet}/projected', { params: { wallet } }))).body, [useDay()]);
  useEvents(['score_recorded', 'score_decided', 'quest_completed'], loaded.reload, [loaded]);
  const value = loaded.value.value;
  return (
    <Panel title="Your part of today" aside={value?.asOf && <Ago at={value.asOf} />}>
      <ProblemNote problem={loaded.problem.value} retry={loaded.reload} />
      {value && (
        <>
          <p class="big">{amountText(value.amount)}</p>
          <p>
            {value.points > 0
              ? `You have ${numberText(value.points)} of ${numberText(value.breakdown.totalPoints)} points, which is ${value.breakdown.shareOfPoints} %. This is the amount if the day ended now.`
              : 'You have no points today that count for rewards.'}
          </p>
          {value.breakdown.capped && <p class="quiet">The maximum for one wallet limits your part.</p>}
          {value.breakdown.belowDust && <p class="quiet">The amount is below the minimum that is paid, so it is not paid yet.</p>}
        </>
      )}
    </Panel>
  );
}
