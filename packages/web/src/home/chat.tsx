import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { type Api, client, ok } from '../client.ts';
import { createLoaded, useLoaded } from '../live/load.ts';
import { useEvents } from '../live/use-events.ts';
import { session } from '../session/session.ts';
import { SignInHint } from '../session/standing.tsx';
import { useAction } from '../ui/action.ts';
import { Panel } from '../ui/panel.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { timeOf } from '../ui/time.tsx';
import { WalletName } from '../ui/wallet.tsx';

const LINES = 50;
const MAX_LENGTH = 500;

/** The chat: the newest messages, and a field to write one. */
export function ChatPanel() {
  const chat = useLoaded(async () => (await ok(client.get('/chat/messages', { query: { limit: LINES } }))).body.messages.toReversed(), []);
  useEvents(
    ['chat_message', 'chat_moderation'],
    (event) => {
      const messages = chat.value.value;
      if (!messages) return;
      if (event.type === 'chat_message') {
        if (!messages.some(({ messageId }) => messageId === event.messageId)) chat.value.value = [...messages, event].slice(-LINES);
      } else if (event.messageId !== null) chat.value.value = messages.filter(({ messageId }) => messageId !== event.messageId);
      else chat.reload();
    },
    [chat],
  );
  return (
    <Panel title="Chat" class="chat">
      <ProblemNote problem={chat.problem.value} retry={chat.reload} />
      <Messages messages={chat.value.value} />
      {session.value ? <Writer /> : session.value === null && <SignInHint>Sign in to write.</SignInHint>}
    </Panel>
  );
}

function Messages({ messages }: { messages: readonly Api.ChatMessage[] | undefined }) {
  const list = useRef<HTMLUListElement>(null);
  const isAtEnd = useRef(true);
  // Shows the newest message, unless the visitor has scrolled up to read.
  useLayoutEffect(() => {
    const box = list.current;
    if (box && isAtEnd.current) box.scrollTop = box.scrollHeight;
  }, [messages]);
  if (messages?.length === 0) return <p class="empty">Nobody has written yet.</p>;
  return (
    <ul
      ref={list}
      class="messages"
      aria-label="Messages, newest last"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable with the keyboard.
      tabIndex={0}
      onScroll={({ currentTarget: box }) => {
        isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
      }}
    >
      {messages?.map(({ messageId, wallet, handle, text, at, entryId, source }) => (
        <li key={messageId} class={entryId === null ? 'message' : 'message entered'}>
          <span class="author">{wallet === null ? (handle ?? source) : <WalletName wallet={wallet} name={handle} />}</span> <span>{text}</span>
          <span class="unseen">, {timeOf(at)}</span>
        </li>
      ))}
    </ul>
  );
}

const status = createLoaded(async () => (await ok(client.get('/chat/status'))).body);

function Writer() {
  const text = useSignal('');
  useEffect(() => status.start(), []);
  // The same key for the same text: a message whose answer was lost is not written twice.
  const key = useRef({ text: '', key: '' });
  const send = useAction(async (message: string) => {
    if (key.current.text !== message) key.current = { text: message, key: crypto.randomUUID() };
    await ok(client.post('/chat/message', { body: { text: message }, idempotencyKey: key.current.key }));
    key.current = { text: '', key: '' };
    // The visitor may have written on meanwhile.
    if (text.value.trim() === message) text.value = '';
  });
  const submit = (event: Event) => {
    event.preventDefault();
    const message = text.value.trim();
    if (message !== '') void send.run(message);
  };
  const slowModeSec = status.value.value?.slowModeSec ?? 0;
  return (
    <form class="stack tight" onSubmit={submit}>
      <label for="chat-text">Your message</label>
      <div class="row nowrap">
        <input
          id="chat-text"
          autocomplete="off"
          maxLength={MAX_LENGTH}
          value={text}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
          }}
        />
        <button type="submit" disabled={send.isBusy.value || text.value.trim() === ''}>
          Send
        </button>
      </div>
      {slowModeSec > 0 && <p class="quiet">Slow mode: one message in {slowModeSec} s.</p>}
      {status.value.value?.takesMessages === false && <p class="note warn">The chat accepts no messages at present.</p>}
      <ProblemNote problem={send.problem.value} retry={() => void send.run(text.value.trim())} />
    </form>
  );
}
