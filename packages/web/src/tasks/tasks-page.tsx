import { type Api, client, ok } from '../client.ts';
import { useLoaded } from '../live/load.ts';
import { useEvents } from '../live/use-events.ts';
import { session } from '../session/session.ts';
import { sessionKey } from '../session/session-key.ts';
import { SignInHint, Standing } from '../session/standing.tsx';
import { numberText } from '../ui/amount.ts';
import { Panel } from '../ui/panel.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { OpenQuest, OwnQuest } from './quest-card.tsx';

const LINES = 100;
/** Events after which a quest may have another state. */
const CHANGES = ['quest_completed', 'quest_published', 'quest_changed', 'quest_withdrawn', 'score_recorded', 'score_decided'] as const;

/** The open quests and the daily tasks, with the visitor’s progress. */
export default function TasksPage() {
  return (
    <>
      <h1>Quests and tasks</h1>
      <p>A quest is completed by itself when you meet it. You complete a daily task with its button, once a day. Days begin at midnight UTC.</p>
      <Standing />
      {session.value === null && <OpenQuests />}
      {session.value && <OwnQuests key={sessionKey.value} />}
    </>
  );
}

function OpenQuests() {
  const quests = useLoaded(async () => (await ok(client.get('/quests', { query: { limit: LINES } }))).body, []);
  useEvents(['quest_published', 'quest_changed', 'quest_withdrawn'], quests.reload, [quests]);
  const list = quests.value.value;
  return (
    <>
      <SignInHint>Sign in to see what you have done and what is missing.</SignInHint>
      <Panel title="Open quests and tasks">
        <ProblemNote problem={quests.problem.value} retry={quests.reload} />
        {list?.length === 0 && <p class="empty">No quest is open at present.</p>}
        <ul class="quests">
          {list?.map((quest) => (
            <OpenQuest key={quest.id} quest={quest} />
          ))}
        </ul>
      </Panel>
    </>
  );
}

function OwnQuests() {
  const tasks = useLoaded(async () => (await ok(client.get('/api/tasks/daily'))).body, []);
  const quests = useLoaded(async () => (await ok(client.get('/me/quests', { query: { limit: LINES } }))).body.filter(({ task }) => !task), []);
  const reload = () => {
    tasks.reload();
    quests.reload();
  };
  useEvents(CHANGES, reload, [tasks, quests]);
  const replace = (task: Api.OwnQuest) => {
    tasks.value.value = tasks.value.value?.map((one) => (one.id === task.id ? task : one));
  };
  return (
    <>
      <Multiplier />
      <Panel title="Daily tasks">
        <ProblemNote problem={tasks.problem.value} retry={tasks.reload} />
        {tasks.value.value?.length === 0 && <p class="empty">There are no daily tasks today.</p>}
        <ul class="quests">
          {tasks.value.value?.map((task) => (
            <OwnQuest key={task.id} quest={task} replace={replace} />
          ))}
        </ul>
      </Panel>
      <Panel title="Quests">
        <ProblemNote problem={quests.problem.value} retry={quests.reload} />
        {quests.value.value?.length === 0 && <p class="empty">No quest is open at present.</p>}
        <ul class="quests">
          {quests.value.value?.map((quest) => (
            <OwnQuest key={quest.id} quest={quest} replace={replace} />
          ))}
        </ul>
      </Panel>
    </>
  );
}

function Multiplier() {
  const loaded = useLoaded(async () => (await ok(client.get('/me/quest-multiplier'))).body, []);
  useEvents(['quest_completed'], loaded.reload, [loaded]);
  const value = loaded.value.value;
  if (!value) return null;
  const { streak, linkedAccount, holding } = value.factors;
  return (
    <p class="note">
      Your quest points are multiplied by <strong>{value.multiplier}</strong> (at most {value.max}): a streak of {numberText(streak.days)}{' '}
      {streak.days === 1 ? 'day' : 'days'} adds {percent(streak.bonus)}, a linked account {percent(linkedAccount.bonus)}, holding the token{' '}
      {percent(holding.bonus)}.
    </p>
  );
}

const percent = (bonus: number): string => `${Math.round(bonus * 100)} %`;
