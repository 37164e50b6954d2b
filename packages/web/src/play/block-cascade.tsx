import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type Api, client, ok } from '../client.ts';
import { connection } from '../live/stream.ts';
import { refreshSession, session } from '../session/session.ts';
import { openSignIn } from '../session/sign-in-dialog.tsx';
import { SignInHint } from '../session/standing.tsx';
import { useAction } from '../ui/action.ts';
import { numberText } from '../ui/amount.ts';
import { announce } from '../ui/announce.tsx';
import { Panel } from '../ui/panel.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { shortWallet } from '../ui/wallet.tsx';
import { Receipt } from './receipt.tsx';
import { Rules } from './rules.tsx';
import { Run } from './run.ts';
import { loadSimulation } from './simulation.ts';
import { Stage } from './stage.tsx';
import { forgetUnsent, readUnsent, storeUnsent, type Unsent } from './unsent.ts';

type Phase =
  | { readonly name: 'ready' }
  | { readonly name: 'playing'; readonly run: Run; readonly wallet: string; readonly playId: string }
  | { readonly name: 'sending'; readonly unsent: Unsent }
  | { readonly name: 'done'; readonly score: number; readonly receipt: Api.ScoreReceipt };

const READY: Phase = { name: 'ready' };
const GAME = 'block-cascade';

/** Starts a play and loads its simulation. */
async function startPlay(wallet: string): Promise<Phase> {
  const { body } = await ok(client.post('/game/{id}/play', { params: { id: GAME }, idempotencyKey: crypto.randomUUID() }));
  const { playId, seed, simulation } = body;
  if (seed === null || simulation === null) throw new Error('This game does not run in this page at present: its scores are not proven by replays');
  return { name: 'playing', run: new Run(await loadSimulation(simulation), seed, simulation), wallet, playId };
}

/** Sends a finished play. A repeated request gets the same receipt, because a play has one score. */
async function sendScore({ gameId, playId, score, replay }: Unsent): Promise<Phase> {
  const { body } = await ok(client.post('/arcade/score', { body: { gameId, playId, score, replay }, idempotencyKey: `play-${playId}` }));
  forgetUnsent();
  void refreshSession();
  announce(`Your score ${score} is ${body.status}. ${body.pointsAwarded} points${body.rank.rank === null ? '' : `, rank ${body.rank.rank}`}.`);
  return { name: 'done', score, receipt: body };
}

/** The game Block Cascade: the rules, the play, and the receipt of its score. */
export function BlockCascade() {
  const phase = useSignal<Phase>(READY);
  const wallet = session.value?.wallet ?? null;
  const start = useAction(async (by: string) => {
    phase.value = await startPlay(by);
  });
  const send = useAction(async (unsent: Unsent) => {
    phase.value = { name: 'sending', unsent };
    phase.value = await sendScore(unsent);
  });

  /** Sends the score of a finished play. The page keeps it until the arcade confirms or refuses it. */
  async function finish({ run, wallet, playId }: Extract<Phase, { name: 'playing' }>): Promise<void> {
    const unsent = { wallet, gameId: GAME, playId, ...run.result };
    storeUnsent(unsent);
    await deliver(unsent);
  }
  async function deliver(unsent: Unsent): Promise<void> {
    // The arcade would refuse the score under another wallet, and the page would forget it.
    if (session.value?.wallet !== unsent.wallet) {
      phase.value = { name: 'sending', unsent };
      return;
    }
    await send.run(unsent);
    const problem = send.problem.value;
    if (problem && !problem.isTemporary && problem.status !== 401) forgetUnsent();
  }

  // A score that was not confirmed before a reload of the page, or in a lost connection, is sent when that is possible again.
  useEffect(() => {
    if (wallet === null || phase.value.name !== 'ready') return;
    const unsent = readUnsent(wallet, GAME);
    if (unsent) void deliver(unsent);
  }, [wallet]);
  useEffect(
    () =>
      connection.subscribe((state) => {
        const { value } = phase;
        if (state === 'open' && value.name === 'sending' && send.problem.value?.isTemporary) void deliver(value.unsent);
      }),
    [],
  );

  const now = phase.value;
  if (now.name === 'playing') return <PlayArea run={now.run} onEnd={() => void finish(now)} />;
  return (
    <div class="play-columns">
      {now.name === 'done' ? (
        <Receipt score={now.score} receipt={now.receipt} again={() => wallet !== null && void start.run(wallet)} />
      ) : now.name === 'sending' ? (
        <Sending
          unsent={now.unsent}
          isBusy={send.isBusy.value}
          problem={<ProblemNote problem={send.problem.value} retry={() => void deliver(now.unsent)} />}
          isRefused={send.problem.value !== null && !send.problem.value.isTemporary && send.problem.value.status !== 401}
          hasRetry={send.problem.value?.isTemporary === true}
          deliver={() => void deliver(now.unsent)}
          leave={() => {
            phase.value = READY;
          }}
        />
      ) : wallet === null ? (
        <SignInHint>Sign in to play. The score belongs to your wallet.</SignInHint>
      ) : (
        <Panel title="Ready?">
          <p>Three minutes, falling pieces, full rows. The clock starts with the play.</p>
          <p>
            <button type="button" disabled={start.isBusy.value} onClick={() => void start.run(wallet)}>
              {start.isBusy.value ? 'Starting…' : 'Play'}
            </button>
          </p>
        </Panel>
      )}
      {now.name !== 'sending' && <ProblemNote problem={start.problem.value} retry={() => wallet !== null && void start.run(wallet)} />}
      <Rules />
    </div>
  );
}

function PlayArea({ run, onEnd }: { run: Run; onEnd: () => void }) {
  return (
    <>
      <Stage run={run} onEnd={onEnd} />
      <details>
        <summary>Rules and keys</summary>
        <Rules />
      </details>
    </>
  );
}

interface SendingProps {
  readonly unsent: Unsent;
  readonly isBusy: boolean;
  readonly isRefused: boolean;
  /** Whether `problem` has a button that tries again. */
  readonly hasRetry: boolean;
  readonly problem: preact.ComponentChildren;
  readonly deliver: () => void;
  readonly leave: () => void;
}

/** A finished play whose score is on its way, or that the arcade did not confirm. */
function Sending({ unsent: { wallet, score }, isBusy, isRefused, hasRetry, problem, deliver, leave }: SendingProps) {
  const own = session.value?.wallet;
  return (
    <Panel title={`Your score: ${numberText(score)}`}>
      {isBusy && <p role="status">The arcade computes the game again…</p>}
      {problem}
      {!isBusy && !isRefused && own !== wallet && (
        <>
          <p>The score belongs to the wallet {shortWallet(wallet)}. Sign in with it to send the score.</p>
          <button type="button" onClick={openSignIn}>
            Sign in
          </button>
        </>
      )}
      {!isBusy && !isRefused && !hasRetry && own === wallet && (
        <button type="button" onClick={deliver}>
          Send the score
        </button>
      )}
      {!isBusy && (isRefused || own !== wallet) && (
        <button type="button" class="second small" onClick={leave}>
          {isRefused ? 'Back' : 'Not now'}
        </button>
      )}
    </Panel>
  );
}
