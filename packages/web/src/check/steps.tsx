import type { Step } from '../../../verify/src/index.ts';
import { Panel } from '../ui/panel.tsx';
import { shortWallet } from '../ui/wallet.tsx';
import type { CheckResult } from './request.ts';
import { type Kind, wordsOf } from './words.ts';

const OUTCOMES: Readonly<Record<Step['outcome'], readonly [sign: string, name: string, tone: string]>> = {
  true: ['✓', 'Holds', 'good'],
  false: ['✗', 'Fails', 'bad'],
  unknown: ['?', 'Not possible', 'unknown'],
  late: ['!', 'Late', 'warm'],
};

/** The steps of a check so far. */
export function Steps({ steps, isBusy }: { steps: readonly Step[]; isBusy: boolean }) {
  return (
    <ol class="check-steps" aria-busy={isBusy}>
      {steps.map(({ check, outcome, detail }, i) => {
        const [sign, name, tone] = OUTCOMES[outcome];
        return (
          <li key={i} class={`step ${tone}`}>
            <span class="sign" aria-hidden="true">
              {sign}
            </span>
            <div>
              <p class="step-name">
                <span class="unseen">{name}: </span>
                {check}
              </p>
              <p class="step-detail">{detail.startsWith(`${check}: `) ? detail.slice(check.length + 2) : detail}</p>
            </div>
          </li>
        );
      })}
      {isBusy && (
        <li class="step busy">
          <span class="sign" aria-hidden="true">
            …
          </span>
          <p>The next check runs.</p>
        </li>
      )}
    </ol>
  );
}

/** A value that no check in a page can check: the arcade could serve another program. */
const PROGRAM =
  'that this page runs the published verifier, because the arcade serves the page. The commands bin/verify-round, bin/verify-epoch and bin/verify-score of the source code check without the page';

/** The verdict in words, the result that the browser computed, and everything that it did not check. */
export function Verdict({ kind, result }: { kind: Kind; result: CheckResult }) {
  const { tone, title, text } = wordsOf(kind, result);
  const { onTheHousesWord, drawn, verdict } = result;
  return (
    <section class={`panel verdict ${tone}`} aria-labelledby="verdict">
      <h2 id="verdict" class="verdict-title">
        {title}
      </h2>
      <p>{text}</p>
      {drawn && verdict !== 'false' && (
        <dl class="pairs">
          {drawn.numbers.length > 0 && (
            <>
              <dt>Numbers</dt>
              <dd>{drawn.numbers.join(', ')}</dd>
            </>
          )}
          {drawn.winners.map(({ place, wallet }) => (
            <>
              <dt>Place {place}</dt>
              <dd title={wallet}>{shortWallet(wallet)}</dd>
            </>
          ))}
        </dl>
      )}
      <Panel title="Not checked: taken on the word of the arcade" class="words">
        <ul class="bullets">
          {[...onTheHousesWord, PROGRAM].map((word) => (
            <li key={word}>{word}</li>
          ))}
        </ul>
      </Panel>
    </section>
  );
}
