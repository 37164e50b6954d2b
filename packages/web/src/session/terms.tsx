import { client, ok } from '../client.ts';
import { useLoaded } from '../live/load.ts';
import { useAction } from '../ui/action.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { timeOf } from '../ui/time.tsx';

/** The terms of paid rounds that the visitor has not accepted, and their self-exclusion. Shows nothing when neither applies. Precondition: a session. */
export function TermsNote() {
  const terms = useLoaded(async () => (await ok(client.get('/me/terms'))).body, []);
  const exclusion = useLoaded(async () => (await ok(client.get('/me/exclusion'))).body, []);
  const accept = useAction(async (version: string) => {
    terms.value.value = (await ok(client.post('/me/terms', { body: { version } }))).body;
  });
  const version = terms.value.value?.version ?? null;
  const url = terms.value.value?.url ?? null;
  const until = exclusion.value.value?.excluded ? exclusion.value.value.until : null;
  return (
    <>
      {version !== null && url !== null && terms.value.value?.acceptedAt === null && (
        <div class="note row">
          <span>
            Paid rounds have <a href={url}>terms</a>. Read them before you buy a ticket.
          </span>
          <button type="button" class="small" disabled={accept.isBusy.value} onClick={() => void accept.run(version)}>
            I accept the terms
          </button>
          <ProblemNote problem={accept.problem.value} />
        </div>
      )}
      {until !== null && <p class="note">You excluded yourself from rounds with prizes in stablecoin and from tickets until {timeOf(until)}.</p>}
    </>
  );
}
