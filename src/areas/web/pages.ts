import type { App } from '#platform/app.ts';
import type { WebPolicy } from '#platform/http/page-headers.ts';
import type { Page } from '#platform/http/pages/layout.ts';

/** Title, description and link preview of a page. */
export type Head = Pick<Page, 'title' | 'description' | 'shared'>;

/** A page of the arcade, by the path of its URL. The script in the browser shows the content of the page. */
export interface WebPage {
  /** Path with parameters in braces, such as `/games/{id}`. A parameter is one segment. */
  readonly path: string;
  readonly policy: WebPolicy;
  /** Source file of the page in `packages/web/src`, whose scripts the browser loads at once. */
  readonly source: string;
  /**
   * Returns the head of the page.
   * @throws 404 when a parameter names nothing that exists
   */
  head(app: App, params: Readonly<Record<string, string>>): Promise<Head> | Head;
}

const plain = (path: string, source: string, title: string, description: string): WebPage => ({
  path,
  policy: 'plain',
  source,
  head: () => ({ title, description }),
});

/** Every page except the home page and the pages with a link preview of their own. */
export const plainPages: readonly WebPage[] = [
  plain('/boards', 'boards/boards-page.tsx', 'Leaderboards', 'The best scores of each game, and the points of all games together, as they change.'),
  plain('/boards/{id}', 'boards/boards-page.tsx', 'Leaderboards', 'The best scores of one game, as they change.'),
  plain('/tasks', 'tasks/tasks-page.tsx', 'Quests and tasks', 'Quests and daily tasks give points. See what is open and what is missing.'),
  plain('/rewards', 'rewards/rewards-page.tsx', 'Rewards', 'Points become token rewards each day. See your reward, check its proof and claim it.'),
  plain('/history', 'history/history-page.tsx', 'Your history', 'Your scores, entries, tickets and claims.'),
];
