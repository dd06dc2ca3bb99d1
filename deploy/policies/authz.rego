# Decides whether a user may do a request, by asking Atrium's portal what they are. Fails closed: whatever is
# missing, unknown, late or malformed is a denial that says why.
#
# Input:
#   method     the request's method
#   path       its path, from the slash on; a query is ignored
#   user.qxId  who asks, as an authenticated fact; subject.qxId is taken too
#   space      id of the space; without it that of …/spaces/{id}… in the path
#
# Answer: data.atrium.authz.decision = {"allow": boolean, "reason": string}, data.atrium.authz.allow = boolean
#
# Without a space a request needs a superuser. In a space reading needs a member, an owner or a superuser, and
# everything else an owner, as in Atrium itself.
package atrium.authz

import data.atrium.portal

default allow := false

allow if decision.allow

default decision := {"allow": false, "reason": "the policy could not decide"}

decision := {"allow": false, "reason": reason} if {
	reason := problems[0]
} else := {"allow": false, "reason": permissions.problem} if {
	permissions.problem
} else := {"allow": true, "reason": required_role} if {
	count(problems) == 0
	has_role(required_role)
} else := {"allow": false, "reason": sprintf("%s required", [required_role])}

reading_methods := {"GET", "HEAD", "OPTIONS", "QUERY"}

writing_methods := {"POST", "PUT", "PATCH", "DELETE"}

methods := reading_methods | writing_methods

uuid_pattern := `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`

# What is wrong with the input, in the order of its fields.
problems := [problem |
	some check in [wrong_method, wrong_path, wrong_user, wrong_space]
	some problem in check
]

wrong_method contains "input.method is missing or unknown" if not method_is_known

# A rule of its own: a negation around input.method itself would be undefined when the method is missing.
method_is_known if input.method in methods

wrong_path contains "input.path is missing or malformed" if not path

# Servers disagree on what such paths mean, so the space that is checked may not be the space that is served.
wrong_path contains "input.path is ambiguous" if regex.match(`//|/\.{1,2}(/|$)|\\|%|[\x00-\x20]`, path)

wrong_path contains "input.path is ambiguous" if regex.match(`(?i)%(2f|5c)`, input.path)

wrong_user contains "input.user.qxId is missing" if not user_id

wrong_user contains "input.user.qxId is not an id" if not regex.match(`^[^\s/\x00-\x1f\x7f]{1,128}$`, user_id)

wrong_user contains "input.user.qxId is not an id" if user_id in {".", ".."}

wrong_user contains "input names two users" if input.user.qxId != input.subject.qxId

wrong_space contains "input.space is not the space of the path" if count(named_spaces) > 1

wrong_space contains "the space id is not a UUID" if {
	some id in named_spaces
	not is_uuid(id)
}

is_uuid(id) if {
	is_string(id)
	regex.match(uuid_pattern, id)
}

# Decoded once; what is still encoded then is ambiguous.
path := urlquery.decode(replace(split(input.path, "?")[0], "+", "%2B")) if {
	is_string(input.path)
	startswith(input.path, "/")
}

default user_id := false

user_id := input.user.qxId if {
	is_string(input.user.qxId)
} else := input.subject.qxId if {
	is_string(input.subject.qxId)
}

named_spaces contains lower_text(input.space)

named_spaces contains lower(match[1]) if {
	some match in regex.find_all_string_submatch_n(`/spaces/([^/]+)`, path, -1)
}

# What is no text is kept as it is, and found to be no UUID.
lower_text(value) := lower(value) if is_string(value)

lower_text(value) := value if not is_string(value)

space_id := id if {
	some id in named_spaces
}

required_role := "superuser" if {
	count(named_spaces) == 0
} else := "member" if {
	input.method in reading_methods
} else := "owner" if {
	input.method in writing_methods
}

permissions := portal.in_space(space_id, user_id) if {
	count(named_spaces) == 1
} else := portal.everywhere(user_id)

has_role("superuser") if permissions.superuser

has_role("member") if permissions.member

has_role("member") if permissions.owner

has_role("member") if permissions.superuser

has_role("owner") if permissions.owner
