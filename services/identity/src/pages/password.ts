import { escapeHtml, type Fault, faultSummary, fieldOf, type Page, renderPage } from './page.ts'

/** Asks for the current password, so it needs no session and no protection of one. */
export function passwordPage(view: { action: string; user: string; faults: readonly Fault[] }): Page {
  const isFaulty = (id: string): boolean => view.faults.some(({ field }) => field === id)
  const hasFaults = view.faults.length > 0
  return renderPage({
    title: hasFaults ? 'Error: Change password' : 'Change password',
    body: `<h1>Change password</h1>
<p class="lead">You will be signed out everywhere.</p>
${faultSummary(view.faults)}
<form method="post" action="${escapeHtml(view.action)}">
${fieldOf({ id: 'user', label: 'User name', type: 'text', autocomplete: 'username', value: view.user, isFaulty: isFaulty('user'), hasFocus: !hasFaults })}
${fieldOf({ id: 'current', label: 'Current password', type: 'password', autocomplete: 'current-password', isFaulty: isFaulty('user') })}
${fieldOf({ id: 'new', label: 'New password', type: 'password', autocomplete: 'new-password', hint: '8 to 256 characters; a long phrase is best', isFaulty: isFaulty('new') })}
${fieldOf({ id: 'again', label: 'New password again', type: 'password', autocomplete: 'new-password', isFaulty: isFaulty('again') })}
<button type="submit">Change password</button>
</form>`,
  })
}
