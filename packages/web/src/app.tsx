import { ConnectionState } from './live/connection-state.tsx';
import { Notices } from './live/notices.tsx';
import { attempt, Link, path, shown } from './router.tsx';
import { SessionMenu } from './session/session-menu.tsx';
import { SignInDialog } from './session/sign-in-dialog.tsx';
import { Announcer } from './ui/announce.tsx';

const SECTIONS = [
  ['/', 'Arcade'],
  ['/games/block-cascade', 'Play'],
  ['/boards', 'Boards'],
  ['/tasks', 'Quests'],
  ['/rewards', 'Rewards'],
  ['/history', 'History'],
] as const;

/** The whole page: header with the sections, the shown page, footer. */
export function App() {
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <Link class="brand" href="/">
          Coinop
        </Link>
        <nav aria-label="Sections">
          <ul class="sections">
            {SECTIONS.map(([href, name]) => (
              <li key={href}>
                <Link href={href} aria-current={isWithin(path.value, href) ? 'page' : undefined}>
                  {name}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <SessionMenu />
      </header>
      <ConnectionState />
      <Notices />
      <main id="main" class="page" tabIndex={-1}>
        <Content />
      </main>
      <footer class="foot">
        <p>
          An arcade on Solana. Everybody can check each draw, reward and replayed score. For developers: <a href="/docs">the API</a>.
        </p>
      </footer>
      <SignInDialog />
      <Announcer />
    </>
  );
}

const isWithin = (current: string, href: string): boolean => (href === '/' ? current === '/' : current === href || current.startsWith(`${href}/`));

function Content() {
  const content = shown.value;
  if (content === 'loading') return <p class="quiet">Loading…</p>;
  if (content === 'unknown') {
    return (
      <>
        <h1>This page does not exist</h1>
        <p>
          Go to <Link href="/">the arcade</Link>.
        </p>
      </>
    );
  }
  if (content === 'failed') {
    return (
      <>
        <h1>This page could not be loaded</h1>
        <p>The connection may be lost, or the arcade may have a new version.</p>
        <p class="row">
          <button type="button" onClick={() => attempt.value++}>
            Try again
          </button>
          <button type="button" class="second" onClick={() => location.reload()}>
            Reload the arcade
          </button>
        </p>
      </>
    );
  }
  const { Page, params } = content;
  return <Page params={params} />;
}
