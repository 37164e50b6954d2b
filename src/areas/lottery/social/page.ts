import type Koa from 'koa';
import type { Config } from '#config';
import type { App } from '#platform/app.ts';
import { type Html, html } from '#platform/http/pages/html.ts';
import { replyPage } from '#platform/http/pages/page.ts';
import type { SharedRound } from './rounds.ts';
import { checkUrlOf, summaryOf } from './summary.ts';
import type { Decimals } from './units.ts';
import { readableTime } from './wording.ts';

type Summary = ReturnType<typeof summaryOf>;

const fact = (name: string, value: Html | string): Html => html`<dt>${name}</dt><dd>${value}</dd>
`;
const time = (name: string, instant: string | null): readonly Html[] =>
  instant === null ? [] : [fact(name, html`<time datetime="${instant}">${readableTime(instant)}</time>`)];

/** Returns the facts of a round that its state has. */
function factsOf({ kind, status, prizes, entries, numbers, winningTicket, winners, opensAt, closesAt, endedAt }: Summary): readonly Html[] {
  const places = prizes.map(({ text }, i) => fact(`Prize ${i + 1}`, text));
  // The winner of a round of free tickets has no prize.
  const won = winners.map(({ place, wallet, prize }) =>
    fact(`Winner ${place}`, html`<code>${wallet}</code>${prize.amount === '0' ? null : `, ${prize.text}`}`),
  );
  return [
    ...(won.length > 0 ? won : places),
    ...(numbers === null ? [] : [fact('Numbers', numbers.join(', '))]),
    ...(winningTicket === null ? [] : [fact('Winning ticket', String(winningTicket))]),
    fact(kind === 'chat' ? 'Entries' : 'Tickets', entries.toLocaleString('en-US')),
    ...time('Opened', opensAt),
    ...time(status === 'active' ? 'Closes' : 'Closed', closesAt),
    ...time(status === 'finalized' ? 'Drawn' : 'Ended', endedAt),
  ];
}

/** Returns the page of a round: its card, its facts and the addresses with which anybody can verify it. */
export function roundPage(config: Pick<Config, 'frontendUrl' | 'publicUrl' | 'web'>, round: SharedRound, decimals: Decimals) {
  const summary = summaryOf(config, round, decimals);
  const { title, text, links, meta, verify, status } = summary;
  const checkUrl = checkUrlOf(config, round.id);
  const isClosed = status !== 'pending' && status !== 'active';
  const body = html`<h1>${title}</h1>
<p>${text}</p>
<p><img src="${links.card}" width="${meta.imageWidth}" height="${meta.imageHeight}" alt="${meta.imageAlt}"></p>
<dl>
${factsOf(summary)}</dl>
${config.frontendUrl === null ? null : html`<p><a class="button" href="${links.page}">Open in the arcade</a></p>`}
<h2>Verify this round</h2>
${checkUrl === null ? null : html`<p><a class="button" href="${checkUrl}">Check the draw in this browser</a></p>`}
<p>Anybody can recompute the draw from public data: <code>${verify.command}</code></p>
<p><a href="${links.entries}">All entries</a>${isClosed ? html` · <a href="${links.audit}">Audit</a>` : null} · <a href="${links.verify}">Keys and addresses</a></p>`;
  const image = { url: meta.image, type: 'image/png', width: meta.imageWidth, height: meta.imageHeight, alt: meta.imageAlt };
  return { title, description: text, body, shared: { url: meta.url, image } };
}

/** Replies with the page of a round. */
export const replyRoundPage = async (app: App, ctx: Koa.Context, round: SharedRound, decimals: Decimals) =>
  await replyPage(app, ctx, 200, roundPage(app.config, round, decimals));
