import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { type Api, client, ok } from '../client.ts';
import { useAction } from '../ui/action.ts';
import { amountText, numberText } from '../ui/amount.ts';
import { announce } from '../ui/announce.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { timeOf } from '../ui/time.tsx';

const REPEATS = { once: 'once', daily: 'every day', weekly: 'every week' };

function Head({ title, description, points, repeat }: Pick<Api.Quest, 'title' | 'description' | 'points' | 'repeat'>) {
  return (
    <>
      <div class="row spread">
        <h3>{title}</h3>
        <span class="points">
          +{numberText(points)} <span class="quiet">points, {REPEATS[repeat]}</span>
        </span>
      </div>
      {description !== '' && <p>{description}</p>}
    </>
  );
}

/** A quest for visitors who are not signed in. */
export function OpenQuest({ quest }: { quest: Api.Quest }) {
  return (
    <li class="quest">
      <Head {...quest} />
      {quest.window.endsAt && <p class="quiet">It ends at {timeOf(quest.window.endsAt)}.</p>}
    </li>
  );
}

/** A quest with the visitor’s progress. A daily task has a button that completes it. */
export function OwnQuest({ quest, replace }: { quest: Api.OwnQuest; replace: (quest: Api.OwnQuest) => void }) {
  const note = useSignal('');
  const key = useRef(crypto.randomUUID());
  const complete = useAction(async () => {
    const { status, body } = await ok(client.post('/api/tasks/daily/complete', { body: { taskId: quest.id }, idempotencyKey: key.current }));
    replace(body.task);
    note.value = status === 200 ? `${numberText(body.pointsAwarded)} points.` : 'The points follow as soon as your token balance is known.';
    announce(`${quest.title} is completed. ${note.value}`);
  }, [quest.id, quest.windowKey]);
  return (
    <li class={quest.completed ? 'quest done' : 'quest'}>
      <Head {...quest} />
      {quest.completed ? <Completed quest={quest} /> : <Progress quest={quest} />}
      {quest.task && !quest.completed && (
        <p class="row">
          <button
            type="button"
            class={quest.met ? '' : 'second'}
            disabled={complete.isBusy.value || !quest.met}
            onClick={async () => {
              await complete.run();
              // Only a request without an answer is repeated with its key. After an answer the next one is new: the task opens again each day.
              if (complete.problem.value?.status !== null) key.current = crypto.randomUUID();
            }}
          >
            Complete<span class="unseen"> {quest.title}</span>
          </button>
        </p>
      )}
      {note.value !== '' && <p class="quiet">{note}</p>}
      <ProblemNote problem={complete.problem.value} />
    </li>
  );
}

function Completed({ quest: { pointsAwarded, resetsAt } }: { quest: Api.OwnQuest }) {
  return (
    <p>
      <span class="tag good">Done</span> {pointsAwarded !== null && `${numberText(pointsAwarded)} points. `}
      {resetsAt && <span class="quiet">Again from {timeOf(resetsAt)}.</span>}
    </p>
  );
}

function Progress({ quest: { progress, missing, title } }: { quest: Api.OwnQuest }) {
  return (
    <>
      {progress.map(({ condition, have, need }, i) => (
        <div key={i} class="progress">
          <progress aria-label={`Progress of ${title}`} value={Math.min(Number(have), Number(need))} max={Math.max(Number(need), 1)} />
          <span>
            {condition.type === 'burned'
              ? `${amountText(String(have))} of ${amountText(String(need))}`
              : `${numberText(Number(have))} of ${numberText(Number(need))}`}
          </span>
        </div>
      ))}
      {missing.length > 0 && (
        <ul class="missing">
          {missing.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </>
  );
}
