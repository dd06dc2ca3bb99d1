package atrium.authz_test

import data.atrium.authz

space := "0190a000-0000-7000-8000-000000000001"

other_space := "0190a000-0000-7000-8000-000000000002"

env := {"env": {"ATRIUM_URL": "http://portal.test/", "ATRIUM_POLICY_TOKEN": "policy-token"}}

ok(body) := {"status_code": 200, "body": body}

in_space(superuser, member, owner) := ok({
	"roles": [],
	"isSuperuser": superuser,
	"isSpaceMember": member,
	"isSpaceOwner": owner,
})

everywhere(user, superuser) := ok({"user": {"qNumber": user, "superuser": superuser}, "authenticated": true})

prefix := "http://portal.test/portal/v1/permissions/"

answers := {
	concat("", [prefix, space, "/olga"]): in_space(false, true, true),
	concat("", [prefix, space, "/max"]): in_space(false, true, false),
	concat("", [prefix, space, "/sue"]): in_space(true, false, false),
	concat("", [prefix, space, "/stranger"]): in_space(false, false, false),
	concat("", [prefix, space, "/a%2Bb%3F"]): in_space(false, true, false),
	concat("", [prefix, "sue"]): everywhere("sue", true),
	concat("", [prefix, "olga"]): everywhere("olga", false),
	concat("", [prefix, "other"]): everywhere("sue", true),
	concat("", [prefix, "anonymous"]): ok({"user": {"qNumber": "anonymous", "superuser": true}, "authenticated": false}),
}

# The portal as it is: 404 as JSON for whom it does not know, 401 without the policy's token.
portal(request) := {"status_code": 401, "body": {}} if {
	request.headers.authorization != "Bearer policy-token"
} else := answers[request.url] if {
	request.method == "GET"
	request.cache == true
	request.raise_error == false
	request.timeout == "2s"
} else := {"status_code": 404, "body": {"error": {"code": 404, "message": "not found"}}}

request(method, user) := {"method": method, "path": "/data", "user": {"qxId": user}, "space": space}

decide(asked) := decision if {
	decision := authz.decision with input as asked with http.send as portal with opa.runtime as env
}

reason(asked) := decision.reason if {
	decision := decide(asked)
	decision.allow == false
}

reading := {"GET", "HEAD", "OPTIONS", "QUERY"}

writing := {"POST", "PUT", "PATCH", "DELETE"}

test_owner_may_do_all if {
	every method in authz.methods { decide(request(method, "olga")).allow }
}

test_member_may_read_only if {
	every method in reading { decide(request(method, "max")).allow }
	every method in writing { reason(request(method, "max")) == "owner required" }
}

test_superuser_may_read_but_not_write_in_a_space if {
	every method in reading { decide(request(method, "sue")).allow }
	every method in writing { reason(request(method, "sue")) == "owner required" }
}

test_stranger_may_nothing if {
	every method in reading { reason(request(method, "stranger")) == "member required" }
	every method in writing { reason(request(method, "stranger")) == "owner required" }
}

test_unknown_user_and_unknown_space if {
	reason(request("GET", "nobody")) == "the user or the space is not known"
	reason(object.union(request("GET", "olga"), {"space": other_space})) == "the user or the space is not known"
}

test_without_a_space_superusers_only if {
	decide({"method": "POST", "path": "/data", "user": {"qxId": "sue"}}).allow
	reason({"method": "GET", "path": "/data", "user": {"qxId": "olga"}}) == "superuser required"
	reason({"method": "GET", "path": "/data", "user": {"qxId": "nobody"}}) == "the user or the space is not known"
}

test_answer_about_another_user_is_malformed if {
	reason({"method": "GET", "path": "/data", "user": {"qxId": "other"}}) == "the answer of the portal is malformed"
	reason({"method": "GET", "path": "/data", "user": {"qxId": "anonymous"}}) == "the answer of the portal is malformed"
}

test_subject_is_taken_too if {
	decide({"method": "GET", "path": "/data", "subject": {"qxId": "max"}, "space": space}).allow
	reason(object.union(request("GET", "max"), {"subject": {"qxId": "olga"}})) == "input names two users"
}

test_space_of_the_path if {
	decide({"method": "GET", "path": sprintf("/x/spaces/%s/y?z=1", [space]), "user": {"qxId": "max"}}).allow
	decide({"method": "GET", "path": sprintf("/x/%%73paces/%s", [space]), "user": {"qxId": "max"}}).allow
	decide({"method": "GET", "path": sprintf("/x/spaces/%s", [upper(space)]), "user": {"qxId": "max"}}).allow
}

test_space_of_the_path_must_be_that_of_the_input if {
	path := sprintf("/x/spaces/%s", [other_space])
	reason(object.union(request("GET", "max"), {"path": path})) == "input.space is not the space of the path"
	twice := sprintf("/spaces/%s/spaces/%s", [space, other_space])
	reason({"method": "GET", "path": twice, "user": {"qxId": "max"}}) == "input.space is not the space of the path"
}

test_space_that_is_no_uuid if {
	every id in ["", "x", 7, null, {"id": space}, "../../admin", concat("", [space, "\n"])] {
		reason(object.union(request("GET", "olga"), {"space": id})) == "the space id is not a UUID"
	}
	reason({"method": "GET", "path": "/spaces/home", "user": {"qxId": "sue"}}) == "the space id is not a UUID"
}

test_ambiguous_paths if {
	every path in ["//x", "/a/../b", "/a/.", "/a%2fb", "/a%2Fb", "/a%5Cb", "/%2e%2e/b", "/a\\b", "/a b", "/%2573paces/x"] {
		reason(object.union(request("GET", "olga"), {"path": path})) == "input.path is ambiguous"
	}
}

test_missing_or_wrong_input if {
	every field in ["method", "path", "user"] {
		reason(object.remove(request("GET", "olga"), [field]))
	}
	reason({})
	reason({"user": null})
	every method in ["get", "", null, 1, "CONNECT"] { reason(request(method, "olga")) }
	every path in ["", "x", null, [], "/%zz"] { reason(object.union(request("GET", "olga"), {"path": path})) }
	every user in ["", null, 1, "a b", "a/b", "..", ".", "a\u0000b"] { reason(request("GET", user)) }
}

test_no_input_at_all if {
	not authz.allow with http.send as portal with opa.runtime as env
	not authz.decision.allow with http.send as portal with opa.runtime as env
}

test_ids_are_encoded if decide(request("GET", "a+b?")).allow

# What a portal can answer when it is unwell; none of it lets anybody in.
failures := [
	{"status_code": 0, "error": {"code": "eval_http_send_network_error", "message": "connection refused"}},
	{"status_code": 0, "error": {"code": "eval_http_send_network_error", "message": "request timed out"}},
	{},
	{"status_code": 200},
	{"status_code": 200, "body": null},
	{"status_code": 200, "body": "isSuperuser"},
	{"status_code": 200, "body": {}},
	{"status_code": 200, "body": {"isSuperuser": "true", "isSpaceMember": 1, "isSpaceOwner": "yes"}},
	{"status_code": 200, "body": {"isSuperuser": true}},
	{"status_code": 200, "body": {"isSuperuser": null, "isSpaceMember": true, "isSpaceOwner": true}},
	{"status_code": 200, "body": {"user": {"superuser": "true", "qNumber": "olga"}, "authenticated": true}},
	{"status_code": 204},
	{"status_code": 302, "body": {"isSuperuser": true, "isSpaceMember": true, "isSpaceOwner": true}},
	{"status_code": 401, "body": {"isSuperuser": true, "isSpaceMember": true, "isSpaceOwner": true}},
	{"status_code": 403, "body": {}},
	{"status_code": 404, "body": {"isSuperuser": true, "isSpaceMember": true, "isSpaceOwner": true}},
	{"status_code": 500, "body": {"isSuperuser": true, "isSpaceMember": true, "isSpaceOwner": true}},
	{"status_code": 503, "body": {}},
]

test_every_failure_of_the_portal_denies_with_a_reason if {
	every response in failures {
		every asked in [request("GET", "olga"), object.remove(request("GET", "olga"), ["space"])] {
			decision := authz.decision with input as asked
				with http.send as response
				with opa.runtime as env
			decision.allow == false
			is_string(decision.reason)
			not authz.allow with input as asked with http.send as response with opa.runtime as env
		}
	}
}

test_settings_that_are_missing if {
	every settings in [{}, {"ATRIUM_URL": ""}, {"ATRIUM_URL": "http://x"}, {"ATRIUM_URL": "http://x", "ATRIUM_POLICY_CLIENT_ID": "c"}] {
		decision := authz.decision with input as request("GET", "olga")
			with http.send as portal
			with opa.runtime as {"env": settings}
		decision.allow == false
		contains(decision.reason, "is not set")
	}
}

test_settings_from_data if {
	config := {"url": "http://portal.test", "token": "policy-token"}
	authz.allow with input as request("GET", "max")
		with http.send as portal
		with opa.runtime as {}
		with data.atrium.config as config
}

# The token endpoint, and the portal behind it.
token_endpoint := "http://portal.test/auth/oauth2/realms/root/realms/machine2machine/access_token"

with_token(asked) := ok({"access_token": "policy-token", "expires_in": 3600}) if {
	asked.url == token_endpoint
	asked.method == "POST"
	contains(asked.raw_body, "client_secret=s%26cret")
} else := {"status_code": 401, "body": {"error": "invalid_client"}} if {
	asked.url == token_endpoint
} else := portal(asked)

client(secret) := {"env": {
	"ATRIUM_URL": "http://portal.test",
	"ATRIUM_POLICY_CLIENT_ID": "policy",
	"ATRIUM_POLICY_CLIENT_SECRET": secret,
}}

test_token_of_the_client if {
	authz.allow with input as request("GET", "max") with http.send as with_token with opa.runtime as client("s&cret")
	decision := authz.decision with input as request("GET", "max")
		with http.send as with_token
		with opa.runtime as client("wrong")
	decision == {"allow": false, "reason": "no token could be had for the client of the policy"}
}
