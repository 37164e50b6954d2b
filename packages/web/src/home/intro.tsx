import { client, ok } from '../client.ts';
import { useLoaded } from '../live/load.ts';
import { useEvents } from '../live/use-events.ts';
import { Link } from '../router.tsx';
import { session } from '../session/session.ts';
import { openSignIn } from '../session/sign-in-dialog.tsx';
import { amountText, numberText } from '../ui/amount.ts';

/** What the arcade is, in three steps, with the figures of today. */
export function Intro() {
  return (
    <section class="intro" aria-labelledby="intro-title">
      <div class="intro-text">
        <h1 id="intro-title">Play. Climb. Get paid. Check everything.</h1>
        <p class="lead">Coinop is an arcade on Solana. Your wallet is your account.</p>
        <p class="row">
          <Link class="button" href="/games/block-cascade">
            Play Block Cascade
          </Link>
          {session.value === null && (
            <button type="button" class="second" onClick={openSignIn}>
              Sign in
            </button>
          )}
        </p>
        <Today />
      </div>
      <ol class="steps">
        <li>
          <strong>Your score is proven.</strong> The service runs your moves again and takes the score of that run. Anybody can do the same.
        </li>
        <li>
          <strong>Scores become points.</strong> Points decide your rank. Each day they share a pool of tokens.
        </li>
        <li>
          <strong>Rewards and draws are on chain.</strong> Your own browser can check each of them.
        </li>
      </ol>
    </section>
  );
}

function Today() {
  const stats = useLoaded(async () => (await ok(client.get('/leaderboard/global/stats'))).body, []);
  const pool = useLoaded(async () => (await ok(client.get('/api/rewards/pool/today'))).body, []);
  useEvents(['epoch_computed'], pool.reload, [pool]);
  const today = stats.value.value;
  return (
    <dl class="today">
      <div>
        <dt>Players today</dt>
        <dd>{today ? numberText(today.participantsToday) : '–'}</dd>
      </div>
      <div>
        <dt>Points today</dt>
        <dd>{today ? numberText(today.pointsToday) : '–'}</dd>
      </div>
      <div>
        <dt>Pool today</dt>
        <dd>{pool.value.value ? amountText(pool.value.value.pool) : '–'}</dd>
      </div>
    </dl>
  );
}
