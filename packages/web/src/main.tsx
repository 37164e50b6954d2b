import { render } from 'preact';
import { App } from './app.tsx';
import { followNotices } from './live/notices.tsx';
import { startStream } from './live/stream.ts';
import { pages } from './pages.ts';
import { startRouter } from './router.tsx';
import { keepInvitation } from './session/invitation.ts';
import { restoreSession } from './session/session.ts';

startRouter(pages);
keepInvitation(new URLSearchParams(location.search));
void restoreSession();
startStream();
followNotices();
const root = document.getElementById('app');
if (root) {
  // The HTML has a heading and a text for the time until the script runs.
  root.replaceChildren();
  render(<App />, root);
}
