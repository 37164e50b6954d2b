import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Problem } from './problem.ts';

/**
 * Shows an error where it belongs, with the time until the next try and a button.
 * @param retry tries again; without it there is no button
 */
export function ProblemNote({ problem, retry }: { problem: Problem | null; retry?: () => void }) {
  return <div role="alert">{problem && <Note key={problem} problem={problem} {...(retry ? { retry } : {})} />}</div>;
}

function Note({ problem, retry }: { problem: Problem; retry?: () => void }) {
  const left = useSignal(Math.ceil((problem.retryAfterMs ?? 0) / 1_000));
  useEffect(() => {
    const timer = setInterval(() => {
      if (left.value > 0) left.value -= 1;
    }, 1_000);
    return () => clearInterval(timer);
  }, [left]);
  return (
    <div class="problem">
      <p>{problem.text}</p>
      {problem.isTemporary && retry && (
        // Without `aria-live`, a screen reader would read the whole error again each second.
        <button type="button" class="second small" aria-live="off" onClick={retry} disabled={left.value > 0}>
          {left.value > 0 ? `Try again in ${left.value} s` : 'Try again'}
        </button>
      )}
    </div>
  );
}
