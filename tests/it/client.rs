//! Every method of the client against the simulator: two implementations of the same documentation.

use std::time::Duration;

use futures::StreamExt;
use knightwatch::chess::Color;
use knightwatch::lichess::model::{
    ChallengeStatus, ColorChoice, DeclineReason, Direction, Event, GameEvent, GameFull, GameId,
    GameState, NewChallenge, Room, Speed, Status, TimeControl, Username, Variant,
};
use knightwatch::lichess::{Client, Endpoint, EventStream, GameStream};
use knightwatch::sim::{NewUser, Sim, SimOptions};
use tokio::net::TcpListener;

const SILENCE: Duration = Duration::from_millis(8500);

/// A site with two bots and a human.
struct Site {
    sim: Sim,
    endpoint: Endpoint,
}

impl Site {
    async fn new() -> Self {
        let users = vec![
            NewUser::bot("Kestrel"),
            NewUser {
                takebacks: true,
                ..NewUser::bot("Bruno")
            },
            NewUser::human("Anna"),
        ];
        let sim = Sim::new(SimOptions {
            users,
            ..SimOptions::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint =
            Endpoint::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let site = sim.clone();
        tokio::spawn(async move { site.serve(listener, std::future::pending()).await });
        Self { sim, endpoint }
    }

    fn client(&self, name: &str) -> Client {
        let token = self.sim.token_of(name).parse().unwrap();
        Client::new(&self.endpoint, token, Some(name)).unwrap()
    }
}

fn blitz(rated: bool) -> NewChallenge {
    NewChallenge {
        time_control: TimeControl::Clock {
            limit: 180,
            increment: 2,
        },
        rated,
        color: ColorChoice::White,
        variant: Variant::Standard,
        fen: None,
    }
}

/// The next event, which must be known and readable.
async fn event(stream: &mut EventStream) -> Event {
    match tokio::time::timeout(SILENCE, stream.next())
        .await
        .expect("in time")
    {
        Some(Ok(event)) => {
            assert!(
                !matches!(event, Event::Unknown(_) | Event::Skipped(_)),
                "{event:?}"
            );
            event
        }
        end => panic!("{end:?}"),
    }
}

async fn line(stream: &mut GameStream) -> GameEvent {
    match tokio::time::timeout(SILENCE, stream.next())
        .await
        .expect("in time")
    {
        Some(Ok(event)) => {
            assert!(
                !matches!(event, GameEvent::Unknown(_) | GameEvent::Skipped(_)),
                "{event:?}"
            );
            event
        }
        end => panic!("{end:?}"),
    }
}

async fn full(stream: &mut GameStream) -> GameFull {
    match line(stream).await {
        GameEvent::Full(full) => *full,
        other => panic!("{other:?}"),
    }
}

async fn state(stream: &mut GameStream) -> GameState {
    loop {
        match line(stream).await {
            GameEvent::State(state) => return state,
            GameEvent::Chat(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// A game of Kestrel as White against Bruno.
async fn game(kestrel: &Client, bruno: &Client) -> GameId {
    let challenge = kestrel
        .challenge(&"Bruno".into(), &blitz(false))
        .await
        .unwrap();
    bruno.accept(&challenge.id).await.unwrap();
    challenge.id
}

#[tokio::test]
async fn accounts_and_users_are_read() {
    let site = Site::new().await;
    let kestrel = site.client("Kestrel");
    let me = kestrel.account().await.unwrap();
    assert_eq!(
        (me.username.as_str(), me.is_bot(), me.has_bio()),
        ("Kestrel", true, true)
    );
    assert!(me.count.unwrap().all > 0);
    let info = kestrel.token_test().await.unwrap().unwrap();
    assert_eq!(info.user, Username::new("kestrel"));
    assert!(info.has("bot:play") && info.has("challenge:write"));
    let anna = kestrel.user(&"anna".into()).await.unwrap();
    assert_eq!((anna.username.as_str(), anna.is_bot()), ("Anna", false));
    assert_eq!(
        kestrel.user(&"Nobody".into()).await.unwrap_err().code(),
        Some(404)
    );
    assert!(kestrel.playing(50).await.unwrap().is_empty());
    assert!(kestrel.ping().await.unwrap() < SILENCE);

    assert_eq!(
        kestrel.upgrade().await.unwrap_err().code(),
        Some(400),
        "a bot that has played"
    );
    let anna = site.client("Anna");
    anna.upgrade().await.unwrap();
    assert!(anna.account().await.unwrap().is_bot());

    let unknown = Client::new(&site.endpoint, "lip_wrong".parse().unwrap(), None).unwrap();
    assert!(unknown.account().await.unwrap_err().is_unauthorized());
    assert!(unknown.token_test().await.unwrap().is_none());
    let impostor = kestrel.named(&"Bruno".into());
    assert!(
        impostor.account().await.unwrap_err().is_unauthorized(),
        "the name must be that of the token's owner"
    );
}

#[tokio::test]
async fn open_stream_makes_user_online() {
    let site = Site::new().await;
    let (kestrel, bruno) = (site.client("Kestrel"), site.client("Bruno"));
    let _stream = bruno.events(SILENCE).await.unwrap();
    let bots = kestrel.online_bots(10).await.unwrap();
    assert_eq!(
        bots.iter()
            .map(|bot| bot.username.as_str())
            .collect::<Vec<_>>(),
        ["Bruno"]
    );
    assert!(bots[0].perfs["blitz"].rating.is_some());
    let users = kestrel
        .users_status(&["Bruno".into(), "Anna".into(), "Nobody".into()])
        .await
        .unwrap();
    let online: Vec<(&str, bool)> = users
        .iter()
        .map(|user| (user.name.as_str(), user.online))
        .collect();
    assert_eq!(online, [("Bruno", true), ("Anna", false)]);
}

#[tokio::test]
async fn challenge_is_created_received_and_declined() {
    let site = Site::new().await;
    let (kestrel, bruno) = (site.client("Kestrel"), site.client("Bruno"));
    let (mut ours, mut theirs) = (
        kestrel.events(SILENCE).await.unwrap(),
        bruno.events(SILENCE).await.unwrap(),
    );

    let made = kestrel
        .challenge(&"Bruno".into(), &blitz(true))
        .await
        .unwrap();
    assert_eq!(
        (made.status, made.direction),
        (ChallengeStatus::Created, Some(Direction::Out))
    );
    assert_eq!(
        (made.rated, made.speed, made.variant),
        (true, Speed::Blitz, Variant::Standard)
    );
    assert_eq!(
        (made.color, made.final_color),
        (ColorChoice::White, Some(Color::White))
    );
    for stream in [&mut ours, &mut theirs] {
        let Event::Challenge(seen, compat) = event(stream).await else {
            panic!("a challenge")
        };
        assert_eq!(
            (&seen.id, seen.time_control),
            (
                &made.id,
                TimeControl::Clock {
                    limit: 180,
                    increment: 2
                }
            )
        );
        assert_eq!(seen.challenger.unwrap().name.as_str(), "Kestrel");
        assert!(compat.unwrap().bot);
    }
    assert_eq!(bruno.challenges().await.unwrap().incoming[0].id, made.id);
    assert_eq!(kestrel.challenges().await.unwrap().outgoing[0].id, made.id);
    assert_eq!(bruno.challenge_by_id(&made.id).await.unwrap().id, made.id);

    bruno
        .decline(&made.id, DeclineReason::TooFast)
        .await
        .unwrap();
    let Event::ChallengeDeclined(declined) = event(&mut ours).await else {
        panic!("a no")
    };
    assert_eq!(declined.decline_reason_key, Some(DeclineReason::TooFast));
    let Event::ChallengeDeclined(_) = event(&mut theirs).await else {
        panic!("the echo")
    };

    let second = kestrel
        .challenge(&"Bruno".into(), &blitz(false))
        .await
        .unwrap();
    kestrel.cancel(&second.id).await.unwrap();
    let Event::Challenge(..) = event(&mut theirs).await else {
        panic!("a challenge")
    };
    let Event::ChallengeCanceled(canceled) = event(&mut theirs).await else {
        panic!("canceled")
    };
    assert_eq!(canceled.id, second.id);
    assert_eq!(
        bruno.accept(&second.id).await.unwrap_err().code(),
        Some(400)
    );

    let nobody = kestrel
        .challenge(&"Nobody".into(), &blitz(false))
        .await
        .unwrap_err();
    assert!(nobody.to_string().contains("No such user"), "{nobody}");
    let unclear = NewChallenge {
        time_control: TimeControl::Clock {
            limit: 0,
            increment: 0,
        },
        ..blitz(false)
    };
    let refused = kestrel
        .challenge(&"Bruno".into(), &unclear)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some(400), "{refused}");
}

#[tokio::test]
async fn game_is_played_to_mate() {
    let site = Site::new().await;
    let (kestrel, bruno) = (site.client("Kestrel"), site.client("Bruno"));
    let mut events = kestrel.events(SILENCE).await.unwrap();
    let id = game(&kestrel, &bruno).await;
    let Event::Challenge(..) = event(&mut events).await else {
        panic!("the echo")
    };
    let Event::GameStart(start) = event(&mut events).await else {
        panic!("a game")
    };
    assert_eq!(
        (&start.id, start.color, start.is_my_turn),
        (&id, Color::White, true)
    );
    assert_eq!(
        (start.opponent.name.as_str(), start.opponent.is_bot()),
        ("Bruno", true)
    );
    assert!(start.compat.unwrap().bot);
    let playing = kestrel.playing(9).await.unwrap();
    assert_eq!((&playing[0].id, playing[0].status), (&id, Status::Started));

    let (mut ours, mut theirs) = (
        kestrel.game(&id, SILENCE).await.unwrap(),
        bruno.game(&id, SILENCE).await.unwrap(),
    );
    for stream in [&mut ours, &mut theirs] {
        let game = full(stream).await;
        assert_eq!(game.color_of(&"kestrel".into()), Some(Color::White));
        let TimeControl::Clock { limit, .. } = game.time_control() else {
            panic!("{game:?}");
        };
        assert_eq!(limit, 180);
        assert_eq!((game.initial_fen, game.state.moves.as_str()), (None, ""));
    }
    kestrel.chat(&id, Room::Player, "Good luck").await.unwrap();
    let mut moves = String::new();
    for (ply, uci) in ["f2f3", "e7e5", "g2g4", "d8h4"].into_iter().enumerate() {
        let player = if ply % 2 == 0 { &kestrel } else { &bruno };
        player.play(&id, uci, false).await.unwrap();
        moves = format!("{moves} {uci}").trim().to_owned();
        assert_eq!(state(&mut ours).await.moves, moves);
        let seen = state(&mut theirs).await;
        assert_eq!(
            (seen.moves.as_str(), seen.status.is_over()),
            (moves.as_str(), ply == 3)
        );
        if ply == 0 {
            let again = kestrel.play(&id, "a2a3", false).await.unwrap_err();
            assert!(again.to_string().contains("Not your turn"), "{again}");
        }
        if ply == 3 {
            assert_eq!(
                (seen.status, seen.winner),
                (Status::Mate, Some(Color::Black))
            );
        }
    }
    assert!(
        ours.next().await.is_none() && theirs.next().await.is_none(),
        "a game that is over ends its streams"
    );
    let Event::GameFinish(finish) = event(&mut events).await else {
        panic!("an end")
    };
    assert_eq!(
        (finish.status, finish.winner),
        (Status::Mate, Some(Color::Black))
    );
    assert!(
        bruno
            .chat_log(&id)
            .await
            .unwrap()
            .iter()
            .any(|line| line.text == "Good luck")
    );
    let mut again = kestrel.game(&id, SILENCE).await.unwrap();
    assert!(full(&mut again).await.state.status.is_over());
    assert!(again.next().await.is_none());
}

#[tokio::test]
async fn game_offers_takebacks_and_results_are_received() {
    let site = Site::new().await;
    let (kestrel, bruno) = (site.client("Kestrel"), site.client("Bruno"));

    let id = game(&kestrel, &bruno).await;
    let mut stream = bruno.game(&id, SILENCE).await.unwrap();
    full(&mut stream).await;
    kestrel.abort(&id).await.unwrap();
    assert_eq!(state(&mut stream).await.status, Status::Aborted);

    let id = game(&kestrel, &bruno).await;
    let mut stream = bruno.game(&id, SILENCE).await.unwrap();
    full(&mut stream).await;
    for (player, uci) in [(&kestrel, "e2e4"), (&bruno, "e7e5")] {
        player.play(&id, uci, false).await.unwrap();
        state(&mut stream).await;
    }
    assert_eq!(
        kestrel.abort(&id).await.unwrap_err().code(),
        Some(400),
        "too late"
    );
    kestrel.takeback(&id, true).await.unwrap();
    kestrel.claim_victory(&id).await.unwrap();
    assert_eq!(kestrel.claim_draw(&id).await.unwrap_err().code(), Some(400));
    kestrel.play(&id, "g1f3", true).await.unwrap();
    let offer = state(&mut stream).await;
    assert_eq!(
        (offer.offers_draw(Color::White), offer.moves().count()),
        (true, 2),
        "the offer comes before the move"
    );
    assert_eq!(state(&mut stream).await.moves().count(), 3);
    bruno.draw(&id, true).await.unwrap();
    let end = state(&mut stream).await;
    assert_eq!((end.status, end.winner), (Status::Draw, None));

    let id = game(&kestrel, &bruno).await;
    let mut stream = bruno.game(&id, SILENCE).await.unwrap();
    full(&mut stream).await;
    for (player, uci) in [(&kestrel, "e2e4"), (&bruno, "e7e5")] {
        player.play(&id, uci, false).await.unwrap();
        state(&mut stream).await;
    }
    bruno.resign(&id).await.unwrap();
    let end = state(&mut stream).await;
    assert_eq!(
        (end.status, end.winner),
        (Status::Resign, Some(Color::White))
    );
}

#[tokio::test]
async fn second_event_stream_closes_the_first() {
    let site = Site::new().await;
    let kestrel = site.client("Kestrel");
    let mut first = kestrel.events(SILENCE).await.unwrap();
    let _second = kestrel.events(SILENCE).await.unwrap();
    let end = tokio::time::timeout(SILENCE, first.next()).await.unwrap();
    assert!(end.is_none(), "{end:?}");
}
