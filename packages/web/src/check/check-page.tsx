import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Step } from '../../../verify/src/index.ts';
import { receiptsOf } from '../home/receipts.ts';
import type { Params } from '../page-route.ts';
import { path, query } from '../router.tsx';
import { settings } from '../settings.ts';
import { useAction } from '../ui/action.ts';
import { announce } from '../ui/announce.tsx';
import { Panel } from '../ui/panel.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { ShareLink } from '../ui/share-link.tsx';
import { type Choice, Inputs, PINS, readChoice, storeChoice, urlFault } from './inputs.tsx';
import type { CheckRequest, CheckResult } from './request.ts';
import { runCheck } from './run-check.ts';
import { Steps, Verdict } from './steps.tsx';
import { type Kind, wordsOf } from './words.ts';

const TEXTS: Readonly<Record<Kind, { readonly title: (id: string) => string; readonly text: string }>> = {
  round: {
    title: (id) => `Check round ${id.slice(0, 8)}`,
    text: 'Your browser reads the entries from the arcade, the commitment from the chain and the randomness from the beacon, and draws again.',
  },
  epoch: {
    title: (id) => `Check the rewards of epoch ${id}`,
    text: 'Your browser reads the points and the amounts from the arcade, computes the amounts again, and compares their root with the chain.',
  },
  score: {
    title: () => 'Check a score',
    text: 'Your browser downloads the game and the inputs of the player, and runs the game again. This needs no Solana node.',
  },
};

const kindOf = (shown: string): Kind => (shown.startsWith('/check/round/') ? 'round' : shown.startsWith('/check/epoch/') ? 'epoch' : 'score');

/** Creates the request of a check. Empty fields count as not given. */
function requestOf(kind: Kind, id: string, { rpc, beacon, pins }: Choice): CheckRequest {
  const house = location.origin;
  if (kind === 'score') return { kind, id, house };
  const known = Object.fromEntries(PINS[kind].flatMap(([name]) => (pins[name] ? [[name, pins[name]]] : [])));
  if (kind === 'epoch') return { kind, id, house, rpc, pins: known };
  return { kind, id, house, rpc, beacons: beacon === '' ? null : [beacon], pins: known, receipts: receiptsOf(id), development: settings.development };
}

/** The page that checks a round, an epoch or a score in the browser of the visitor. Nothing here comes from a check that the arcade made. */
export default function CheckPage({ params }: { params: Params }) {
  const kind = kindOf(path.value);
  const id = params.id ?? '';
  return <Check key={`${kind}/${id}`} kind={kind} id={id} />;
}

function Check({ kind, id }: { kind: Kind; id: string }) {
  const choice = useSignal(readChoice());
  const steps = useSignal<readonly Step[]>([]);
  const result = useSignal<CheckResult | null>(null);
  const running = useRef<AbortController | null>(null);
  const needsNode = kind !== 'score';
  const fault = needsNode && choice.value.rpc !== '' ? urlFault(choice.value.rpc) : null;
  const isReady = !needsNode || (choice.value.rpc !== '' && fault === null);

  const check = useAction(async () => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    steps.value = [];
    result.value = null;
    storeChoice(choice.value);
    const add = (step: Step) => {
      if (!own.signal.aborted) steps.value = [...steps.value, step];
    };
    const found = await runCheck(requestOf(kind, id, choice.value), add, own.signal);
    result.value = found;
    const words = wordsOf(kind, found);
    announce(`${words.title}. ${words.text}`);
  });

  // A link with `?run` starts the check, so that one click in the arcade is enough. A node is never called before the visitor named one.
  useEffect(() => {
    if (isReady && (query.value.has('run') || kind === 'score')) void check.run();
    return () => running.current?.abort();
  }, []);

  const isBusy = check.isBusy.value;
  return (
    <>
      <h1>{TEXTS[kind].title(id)}</h1>
      <p class="check-lead">{TEXTS[kind].text}</p>
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void check.run();
        }}
      >
        {needsNode && (
          <Inputs
            kind={kind}
            choice={choice.value}
            fault={fault}
            change={(next) => {
              // A verdict is only about the fields with which the check ran.
              running.current?.abort(new Error('The fields have changed, so the check ended. Check again'));
              steps.value = [];
              result.value = null;
              choice.value = next;
            }}
          />
        )}
        <div class="row">
          <button type="submit" disabled={isBusy || !isReady}>
            {isBusy ? 'Checking…' : result.value || check.problem.value ? 'Check again' : 'Check'}
          </button>
          <ShareLink path={`/check/${kind}/${encodeURIComponent(id)}`} title={TEXTS[kind].title(id)} />
        </div>
      </form>
      <ProblemNote problem={check.problem.value} />
      {result.value && <Verdict kind={kind} result={result.value} />}
      {(isBusy || steps.value.length > 0) && (
        <Panel title="Steps">
          <Steps steps={steps.value} isBusy={isBusy} />
        </Panel>
      )}
    </>
  );
}
