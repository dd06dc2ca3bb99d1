import { escapeHtml, type Page, renderPage } from './page.ts'

export const signedOutPage = (): Page =>
  renderPage({
    title: 'Signed out',
    body: '<h1>You are signed out</h1>\n<p>You can close this page.</p>',
  })

export const passwordChangedPage = (): Page =>
  renderPage({
    title: 'Password changed',
    body: '<h1>Password changed</h1>\n<p>All your sessions have ended. Sign in with the new password from now on.</p>',
  })

/** @param view.returnsTo the application's address behind the confirmation */
export const signOutPage = (view: { action: string; xsrf: string; returnsTo: string | undefined }): Page =>
  renderPage({
    title: 'Sign out',
    leadsTo: view.returnsTo,
    body: `<h1>Sign out?</h1>
<p class="lead">To stay signed in, close this page.</p>
<form method="post" action="${escapeHtml(view.action)}">
<input type="hidden" name="xsrf" value="${escapeHtml(view.xsrf)}">
<button type="submit" name="logout" value="yes">Sign out</button>
</form>`,
  })

/** @param reason a sentence that is safe to show */
export const errorPage = (reason: string): Page =>
  renderPage({
    title: 'Error',
    body: `<h1>That did not work</h1>
<p role="alert">${escapeHtml(reason.charAt(0).toUpperCase() + reason.slice(1))}</p>
<p>Go back to the application and sign in again.</p>`,
  })
