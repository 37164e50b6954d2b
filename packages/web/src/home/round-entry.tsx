import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type Api, client, ok } from '../client.ts';
import { useLoaded } from '../live/load.ts';
import { session } from '../session/session.ts';
import { sessionKey } from '../session/session-key.ts';
import { SignInHint } from '../session/standing.tsx';
import { useAction } from '../ui/action.ts';
import { announce } from '../ui/announce.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { keepReceipt } from './receipts.ts';

/** A round with more numbers than this has a text field in place of a button for each number. */
const MAX_BUTTONS = 80;

/** The visitor’s entries of the open round, and the choice of numbers. */
export function RoundEntry({ round }: { round: Api.ChatRound }) {
  if (session.value === null) return <SignInHint>Sign in to enter. An entry is free.</SignInHint>;
  return session.value ? <OwnEntries key={`${round.id} ${sessionKey.value}`} round={round} /> : null;
}

function OwnEntries({ round }: { round: Api.ChatRound }) {
  const own = useLoaded(async () => {
    const { body } = await ok(client.get('/me/entries', { query: { limit: 50 } }));
    return body.filter(({ roundId }) => roundId === round.id).map(({ id, numbers }) => ({ id, numbers }));
  }, []);
  const entries = own.value.value;
  if (!entries) return <ProblemNote problem={own.problem.value} retry={own.reload} />;
  const left = round.maxEntriesPerWallet - entries.length;
  return (
    <>
      {entries.map(({ id, numbers }) => (
        <p key={id} class="entered">
          You are in with <strong>{numbers.join(', ')}</strong>.
        </p>
      ))}
      {left > 0 && (
        <Chooser
          round={round}
          done={(entry) => {
            own.value.value = [...(own.value.value ?? []), entry];
          }}
        />
      )}
    </>
  );
}

function Chooser({ round: { id, picks, range }, done }: { round: Api.ChatRound; done: (entry: { id: string; numbers: number[] }) => void }) {
  const chosen = useSignal<readonly number[]>([]);
  // The same key for the same choice: an entry whose answer was lost is not made twice.
  const key = useRef({ text: '', key: '' });
  /** The numbers of the last try. */
  const wanted = useRef<readonly number[]>([]);
  const alive = useRef(true);
  useEffect(
    () => () => {
      alive.current = false;
    },
    [],
  );
  const enter = useAction(async (numbers: readonly number[]) => {
    wanted.current = numbers;
    const text = ['!enter', ...numbers].join(' ');
    if (key.current.text !== text) key.current = { text, key: crypto.randomUUID() };
    const { entry } = (await ok(client.post('/chat/message', { body: { text }, idempotencyKey: key.current.key }))).body;
    // The next entry is a new request, also with the same numbers.
    key.current = { text: '', key: '' };
    if (!entry) return;
    // The arcade enters the round that is open when the request arrives, which may be a later one than the page shows.
    const { round } = entry.receipt.statement;
    keepReceipt(round, entry.receipt);
    announce(`You are in with ${entry.numbers.join(', ')}.`);
    if (alive.current && round === id) done(entry);
  });
  const toggle = (number: number) => {
    const now = chosen.value;
    chosen.value = now.includes(number) ? now.filter((one) => one !== number) : [...now, number].slice(-picks);
  };
  const missing = picks - chosen.value.length;
  return (
    <form
      class="stack tight"
      onSubmit={(event) => {
        event.preventDefault();
        void enter.run(chosen.value);
      }}
    >
      <p class="row">
        <button type="button" disabled={enter.isBusy.value} onClick={() => void enter.run([])}>
          Enter with lucky numbers
        </button>
      </p>
      <details>
        <summary>Choose your own {picks} numbers</summary>
        <div class="stack tight">
          {range <= MAX_BUTTONS ? (
            <fieldset class="numbers">
              <legend class="unseen">Numbers from 1 to {range}</legend>
              {Array.from({ length: range }, (_, i) => i + 1).map((number) => (
                <button key={number} type="button" class="number" aria-pressed={chosen.value.includes(number)} onClick={() => toggle(number)}>
                  {number}
                </button>
              ))}
            </fieldset>
          ) : (
            <label>
              {picks} numbers from 1 to {range}, with spaces between them
              <input
                inputMode="numeric"
                onInput={({ currentTarget }) => {
                  chosen.value = currentTarget.value.split(/\D+/).filter(Boolean).map(Number);
                }}
              />
            </label>
          )}
          <button type="submit" disabled={missing !== 0 || enter.isBusy.value}>
            {missing > 0
              ? `Choose ${missing} more`
              : missing < 0
                ? `Remove ${-missing}`
                : `Enter with ${chosen.value.toSorted((a, b) => a - b).join(', ')}`}
          </button>
        </div>
      </details>
      <ProblemNote problem={enter.problem.value} retry={() => void enter.run(wanted.current)} />
    </form>
  );
}
